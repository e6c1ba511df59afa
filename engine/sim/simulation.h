#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/sched/schedule_step.h"
#include "engine/sim/cost_model.h"
#include "engine/sim/policy.h"
#include "engine/sim/trace.h"
#include "engine/sim/workload.h"

/// The engine on virtual time: the real scheduler and KV cache, with a cost model for the device.
namespace kantha::sim {

/// The engine that is simulated; defaults are those of kantha-engine.
struct RunOptions {
  CostModel cost;
  std::int32_t sequences_max = 64;  ///< running at once; slots of the batch policies
  std::int32_t block_count = 4096;
  std::int32_t block_size = 16;
  bool prefix_caching = true;
  std::int32_t context_max = 8192;
  std::int32_t step_tokens_max = 256;
  Duration itl_target{};  ///< of the step budget; 0: 1.6 steps that only decode
  std::int32_t requests_queued_max = 1024;
  std::int64_t prompt_tokens_queued_max = 1 << 20;
  sched::VictimRule victims = sched::VictimRule::kLeastComputed;
  bool foresight = true;         ///< as in sched::SchedulerOptions
  std::uint64_t seed = 0;        ///< of the tokens
  bool keep_steps = false;       ///< fill Trace::steps
  bool check_integrity = false;  ///< after every step; O(blocks)
  TokenObserver on_token = {};
};

/// Runs the workload to its end. Pure: the same arguments give the same trace, bit for bit.
/// kInternal when the scheduler makes no progress, which is a bug of the scheduler, or when its
/// books do not balance.
///
/// The batch policies have all the memory they want. Their batches are padded as is usual: prompts
/// to the longest prompt, computed in one step, then every member takes part in every step until
/// the longest has finished; what is reserved for a member is that longest prompt and output.
Result<Trace> run(const Workload& workload, const Policy& policy, const RunOptions& options);

/// Requests per second that the policy completes of this workload's first 4,000 when all of them
/// are there from the start and none is refused: what a load of 1 means.
Result<double> capacity_per_second(const Workload& workload, const Policy& policy,
                                   const RunOptions& options);

}  // namespace kantha::sim
