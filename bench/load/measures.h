#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/load/distribution.h"
#include "bench/load/request_log.h"
#include "bench/load/slo.h"

/// From what was seen to figures. Pure. Any thread.
namespace kantha::bench {

/// Little's law, L = λW, over a window that begins and ends with nothing in flight, where it holds
/// for every load, steady or not. L comes from the driver's own counter and W from the requests'
/// latencies, which begin when a request was *due*: so they part when the client was late in
/// sending, lost requests, or its clock readings lie.
struct LittleCheck {
  double in_flight_mean = 0;  ///< L
  double arrivals_per_s = 0;  ///< λ
  double latency_mean_s = 0;  ///< W
  double deviation = 0;       ///< |L - λW| / λW
  bool holds = true;          ///< deviation at most kLittleDeviationMax
};
inline constexpr double kLittleDeviationMax = 0.05;

/// Figures of one or several phases on one server. Latencies and tokens are those of requests that
/// succeeded; absent means not known, never zero.
struct Measures {
  std::size_t sent = 0;
  std::size_t ok = 0;
  std::size_t failed = 0;
  std::size_t cancelled = 0;
  std::size_t resent = 0;  ///< of those sent, however they ended: see RequestLog::was_resent
  std::map<std::string, std::size_t> failures = {};      ///< kind → count
  std::map<std::string, std::string> first_errors = {};  ///< kind → the first one's message
  std::size_t dropped = 0;
  double window_s = 0;

  std::optional<Distribution> ttft_ms = {};
  std::optional<Distribution> itl_ms = {};
  std::optional<Distribution> tpot_ms = {};
  std::optional<Distribution> e2e_ms = {};
  std::optional<Distribution> late_ms = {};  ///< sent - due, of an open loop
  std::optional<Distribution> input_tokens = {};
  std::optional<Distribution> output_tokens = {};

  std::optional<double> requests_per_s = {};
  std::optional<double> output_tokens_per_s = {};  ///< absent unless every answer had usage
  std::optional<double> total_tokens_per_s = {};   ///< prompt and output
  std::optional<double> goodput_per_s = {};        ///< requests that kept the SLO
  std::optional<double> goodput_share = {};        ///< of all that were due
  std::optional<double> tokens_per_chunk = {};
  double coalesced_share = 0;               ///< chunks that came in one read with another
  std::optional<double> cached_share = {};  ///< prompt tokens from the server's cache
  std::size_t without_usage = 0;
  std::size_t without_end_mark = 0;

  LittleCheck little = {};
  int in_flight_peak = 0;
  std::optional<double> backlog_growth = {};  ///< open loop: in flight, last third / first third
  double client_cpu_share = 0;                ///< of one core
  std::optional<double> lag_p99_ms = {};      ///< how late our own timer ran

  /// Why the figures must not be used; empty when they may.
  std::vector<std::string> invalid = {};
  /// What a reader must know to read them right.
  std::vector<std::string> warnings = {};
};

struct MeasureOptions {
  std::optional<Slo> slo = {};
  bool is_stream = true;
};

Measures measure(std::span<const Phase> phases, const MeasureOptions& options);

}  // namespace kantha::bench
