#include "engine/sim/simulation.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/sim/batch_run.h"
#include "engine/sim/continuous_run.h"

namespace kantha::sim {
namespace {

/// All of them wait at once, each with room for its longest answer.
constexpr std::size_t kSampleMax = 4000;

}  // namespace

Result<Trace> run(const Workload& workload, const Policy& policy, const RunOptions& options) {
  if (policy.kind == PolicyKind::kContinuous) return ContinuousRun(workload, options).run();
  return BatchRun(workload, policy, options).run();
}

Result<double> capacity_per_second(const Workload& workload, const Policy& policy,
                                   const RunOptions& options) {
  Workload crowd = workload;
  if (crowd.arrivals.size() > kSampleMax) crowd.arrivals.resize(kSampleMax);
  for (Arrival& arrival : crowd.arrivals) {
    arrival.at = {};
    arrival.after = kNone;
    arrival.timeout = {};
  }
  RunOptions open = options;
  open.requests_queued_max = std::numeric_limits<std::int32_t>::max();
  open.prompt_tokens_queued_max = std::numeric_limits<std::int64_t>::max() / 2;
  open.on_token = {};
  open.keep_steps = false;
  TRY(const Trace trace, run(crowd, policy, open));
  std::vector<TimePoint> ends;
  for (const RequestRecord& record : trace.requests) {
    if (record.outcome == Outcome::kDone) ends.push_back(record.end);
  }
  if (ends.empty()) return invalid_argument("no request of the workload can ever run");
  // The middle of the run: before, slots fill up; after, they run empty.
  std::ranges::sort(ends);
  std::size_t from = ends.size() / 5;
  std::size_t to = ends.size() * 4 / 5;
  TimePoint begin = ends[from];
  if (begin == ends[to]) {  // a few batches that end as one
    begin = {};
    from = 0;
    to = ends.size() - 1;
  }
  return static_cast<double>(to - from + (from == 0 ? 1 : 0)) /
         std::chrono::duration<double>(ends[to] - begin).count();
}

}  // namespace kantha::sim
