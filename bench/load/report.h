#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/load/measures.h"
#include "bench/load/options.h"
#include "bench/load/server_metrics.h"
#include "bench/load/server_probe.h"

/// Everything one benchmark found, before it becomes text. Plain data.
namespace kantha::bench {

struct TargetReport {
  Target target;
  ServerFacts facts = {};
  std::string dead = {};              ///< why it could not be measured at all; else empty
  std::vector<Phase> phases = {};     ///< one per round
  std::vector<Measures> rounds = {};  ///< the same, measured
  Measures all = {};                  ///< over all rounds
  ServerFigures server = {};
  std::vector<std::string> warnings = {};  ///< beside those of the measures
};

/// A figure of one target against the same figure of the first.
struct Ratio {
  std::string figure;  ///< "ttft_ms_p50"
  double first = 0;    ///< medians over the rounds
  double other = 0;
  double ratio = 0;   ///< other / first
  double lowest = 0;  ///< of the rounds' own ratios
  double highest = 0;
  std::size_t rounds = 0;
};

struct Comparison {
  std::string name;  ///< the target; "against" is the first one
  std::vector<Ratio> ratios = {};
};

struct BenchReport {
  BenchOptions options = {};
  std::string started_at = {};  ///< ISO 8601, UTC
  std::string version = {};
  std::vector<TargetReport> targets = {};
  std::vector<Comparison> comparisons = {};
  bool was_interrupted = false;

  bool any_success() const;
  bool is_valid() const;
};

/// Every target after the first against the first, round by round. A round counts for a figure
/// where both have it; figures without a round are left out. Pure.
std::vector<Comparison> compare(const std::vector<TargetReport>& targets);

}  // namespace kantha::bench
