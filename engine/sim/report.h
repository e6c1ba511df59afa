#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/sim/trace.h"

/// Figures of a run.
namespace kantha::sim {

/// What users are promised.
struct Slo {
  Duration ttft = std::chrono::seconds(2);
  Duration itl = std::chrono::milliseconds(50);  ///< mean of one request's
};

/// Of some quantity in seconds; zeros when there is none.
struct Quantiles {
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
};

/// Little's law over the middle of the run: from a tenth of the time of arrivals to their end, the
/// mean number of requests in the system is their rate times their mean time in it (L = λW).
/// Otherwise the system is not in a steady state, and its averages describe nothing that lasts.
struct Little {
  double in_system = 0;        ///< L, counted
  double rate_per_second = 0;  ///< λ of the requests that were not refused
  double time_s = 0;           ///< W
  double deviation = 0;        ///< |λW - L| / L
  bool steady = false;         ///< within 5 %
};

struct Report {
  std::int64_t requests = 0;
  std::int64_t outcomes[kOutcomeCount] = {};  ///< by Outcome
  double duration_s = 0;
  double busy_share = 0;
  std::int64_t steps = 0;
  Quantiles wait;                  ///< arrival to first schedule
  Quantiles ttft;                  ///< arrival to first token
  Quantiles itl;                   ///< between two tokens; within 1 %
  Quantiles e2e;                   ///< arrival to end
  double tokens_per_second = 0;    ///< of output
  double requests_per_second = 0;  ///< done
  double goodput_per_second = 0;   ///< done within the SLO
  double slo_share = 0;            ///< of all requests, the refused ones too
  Little little;
  double waste_mean = 0;  ///< of reserved KV, weighted with time
  double waste_p95 = 0;
  std::int64_t preemptions = 0;
  double recompute_share = 0;   ///< of computed tokens
  double padding_share = 0;     ///< of computed tokens
  double prefix_hit_share = 0;  ///< of the tokens looked up
};

Report report(const Trace& trace, const Slo& slo);

/// Exact quantiles (nearest rank) of values in any order.
Quantiles quantiles(std::vector<double> values);

Json to_json(const Report& report);

/// One line of a table for each report, under a head; `names` stand in the first column.
std::string report_table(const std::vector<std::string>& names, const std::vector<Report>& reports);

}  // namespace kantha::sim
