#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// How one step's token budget and the idle blocks are handed out: a pure function of counts.
///
/// Order: running sequences that need one token (decodes), then running ones that need more
/// (prefills, recomputation), then waiting ones in order of arrival. There is no prefill mode: a
/// grant is "so many tokens further", and a long prompt simply takes several steps.
namespace kantha::sched {

/// A sequence that holds blocks.
struct RunningCounts {
  std::int32_t computed = 0;  ///< tokens with keys and values
  std::int32_t wanted = 0;    ///< tokens that exist; > computed
  std::int32_t blocks_held = 0;
  std::int32_t copies = 0;  ///< blocks to be copied before the next write
};

/// What is left to hand out in this step.
struct StepRoom {
  std::int32_t tokens = 0;
  std::int32_t blocks = 0;  ///< idle
};

/// Tokens per running sequence, or a victim.
struct RunningPlan {
  std::vector<std::int32_t> tokens;  ///< [running]; 0 = not in this step
  /// Blocks ran out: preempt this index and plan again. `tokens` is void then.
  std::optional<std::size_t> victim;
  StepRoom left;                     ///< after the grants
  std::int32_t blocks_promised = 0;  ///< that granted sequences still need to reach `wanted`
};

/// Hands out room to running sequences. A decode that finds no block asks for a victim: the
/// sequence with the least computed work (the latest of equals). A prefill that finds no block is
/// cut short or waits while others get on, and asks for a victim only when nobody would.
RunningPlan plan_running(std::span<const RunningCounts> running, StepRoom room,
                         std::int32_t block_size);

/// A sequence that wants to start or to resume, with what the prefix index has for it.
struct WaitingCounts {
  std::int32_t wanted = 0;
  std::int32_t hit_tokens = 0;  ///< need no computing; < wanted
  std::int32_t hit_blocks = 0;  ///< held after the hit was taken
  std::int32_t hit_taken = 0;   ///< idle blocks that taking the hit takes
  bool resumes = false;         ///< was preempted before
};

/// Tokens for the sequence at the head of the waiting line; 0 = not now, and nobody overtakes it.
/// Its whole `wanted` must fit beside what running prefills still need, with headroom for the
/// running ones to grow: one block each, two when it resumes, so that it is not preempted again at
/// once. Alone it always starts.
std::int32_t plan_waiting(const WaitingCounts& waiting, StepRoom room, std::int32_t blocks_promised,
                          std::int32_t running_count, std::int32_t block_size);

}  // namespace kantha::sched
