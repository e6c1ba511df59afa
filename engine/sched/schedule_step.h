#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// How one step's token budget and the idle blocks are handed out: pure functions of counts.
///
/// Order: running sequences that need one token (decodes), then those that need more (prefills,
/// recomputation), running and waiting ones together, the shortest first, with a quarter kept for
/// the oldest. There is no prefill mode: a grant is "so many tokens further", and a long prompt
/// simply takes several steps.
namespace kantha::sched {

/// A sequence that holds blocks. Its blocks come in rows: one for each group of layers.
struct RunningCounts {
  std::int32_t computed = 0;  ///< tokens with keys and values
  std::int32_t wanted = 0;    ///< tokens that exist; > computed
  std::int32_t rows = 0;      ///< that exist
  std::int32_t copies = 0;    ///< blocks to be copied before the next write
  std::int32_t priority = 0;  ///< lower first
  bool batch = false;         ///< nobody waits for it
  std::uint64_t turn = 0;     ///< of the last grant; rising over all sequences
};

/// What is left to hand out in this step.
struct StepRoom {
  std::int32_t tokens = 0;
  std::int32_t blocks = 0;  ///< idle
};

/// Sizes of the cache.
struct BlockShape {
  std::int32_t tokens = 16;  ///< per block
  std::int32_t groups = 1;   ///< blocks per row
};

/// Who gives way when blocks run out.
enum class VictimRule : std::uint8_t {
  kLeastComputed,  ///< loses least
  kNewest,         ///< the last that started, as other engines do; for comparison
};

/// Blocks that `tokens` more tokens take from the idle ones.
std::int32_t blocks_taken(const RunningCounts& counts, std::int32_t tokens, BlockShape shape);

/// As many tokens as missing ones, budget and blocks allow; 0 when not even one fits.
std::int32_t tokens_that_fit(const RunningCounts& counts, StepRoom room, BlockShape shape);

/// Picks the decodes of a step into `served` (indices, to be granted in that order). When there are
/// more than the budget allows, those that were served longest ago. False when one of them finds no
/// block: somebody has to give way, and `served` is void.
bool plan_decodes(std::span<const RunningCounts> running, StepRoom room, BlockShape shape,
                  std::vector<std::size_t>& served);

/// Who gives way: the worst priority, then batch work, then by the rule; the latest of equals.
/// CHECKs that there are two: one alone fits the pool.
std::size_t choose_victim(std::span<const RunningCounts> running, VictimRule rule);

/// The prefills of a step into `order` (indices): by priority, then the one with least missing.
void order_prefills(std::span<const RunningCounts> running, std::vector<std::size_t>& order);

/// Tokens kept for the prefill that has run longest of the best priority, so that shorter ones
/// that keep coming cannot hold it up for ever: a quarter of the budget left after decodes.
struct OldestShare {
  std::optional<std::size_t> index = {};
  std::int32_t tokens = 0;
};
OldestShare share_of_oldest(std::span<const RunningCounts> running, std::int32_t budget);

/// A sequence that wants to start or to resume, with what the cache has for it.
struct WaitingCounts {
  std::int32_t wanted = 0;
  std::int32_t known = 0;   ///< tokens that need no computing; < wanted
  std::int32_t needed = 0;  ///< idle blocks that it takes to get to `wanted`
  bool resumes = false;     ///< was preempted before
};

/// Tokens for a sequence that wants to start; 0 = not now. `room.blocks` are idle ones that no
/// running prefill still needs. Its whole `wanted` must fit, with headroom for the running ones to
/// grow: a row each, two when it resumes, so that it is not preempted again at once. Alone it
/// always starts.
std::int32_t plan_waiting(const WaitingCounts& waiting, StepRoom room, std::int32_t running_count,
                          BlockShape shape);

}  // namespace kantha::sched
