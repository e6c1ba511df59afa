#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/net/http.h"
#include "base/result.h"
#include "bench/load/arrivals.h"
#include "bench/load/slo.h"
#include "bench/load/workload.h"

/// What one benchmark is to do. Plain data; checked before anything is sent.
namespace kantha::bench {

/// One server under test.
struct Target {
  std::string name;  ///< for the report; the URL when none was given
  std::string url;
  net::Endpoint endpoint = {};
};

/// "http://host:port", with "/v1" behind it or not, "unix:/path", and "NAME=" before any of them.
/// kInvalidArgument names --url and shows the text.
Result<Target> parse_target(const std::string& text);

enum class Api : std::uint8_t { kChat, kCompletions };

struct BenchOptions {
  std::vector<Target> targets = {};
  std::string model = {};  ///< empty: the server's first
  std::string api_key = {};
  // Load: at most one of these three; none is `concurrency` 1.
  int concurrency = 0;
  double rate_per_s = 0;
  std::vector<TraceEntry> trace = {};
  // How much, per target: over all rounds.
  int requests = 0;
  double duration_s = 0;
  int rounds = 0;  ///< 0: one for a single target, five to compare
  int warmup = 4;  ///< requests per target before the first round, not measured
  int in_flight_max = 1024;
  double timeout_s = 600;
  // What is asked.
  WorkloadOptions workload = {};
  Api api = Api::kChat;
  bool is_stream = true;
  bool ignore_eos = true;
  std::optional<Slo> slo = {};

  bool is_open_loop() const { return rate_per_s > 0 || !trace.empty(); }
  int round_count() const { return rounds > 0 ? rounds : targets.size() > 1 ? 5 : 1; }
};

/// Combinations that cannot be; the message names both flags. Fills in what was left open (100
/// requests, one at a time).
Status complete_options(BenchOptions& options);

/// "random, 16 at a time, 64 requests, 2 rounds, seed 1" for headings.
std::string describe(const BenchOptions& options);

}  // namespace kantha::bench
