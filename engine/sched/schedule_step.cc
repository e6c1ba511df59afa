#include "engine/sched/schedule_step.h"

#include <algorithm>

#include "base/check.h"

namespace kantha::sched {
namespace {

std::int32_t blocks_for(std::int32_t tokens, std::int32_t block_size) {
  return (tokens + block_size - 1) / block_size;
}

std::size_t least_computed(std::span<const RunningCounts> running) {
  std::size_t victim = 0;
  for (std::size_t i = 1; i < running.size(); ++i) {
    if (running[i].computed <= running[victim].computed) victim = i;
  }
  return victim;
}

bool is_decode(const RunningCounts& counts) { return counts.wanted - counts.computed == 1; }

/// Blocks that `tokens` more tokens take from the free list.
std::int32_t blocks_taken(const RunningCounts& counts, std::int32_t tokens,
                          std::int32_t block_size) {
  const std::int32_t end = blocks_for(counts.computed + tokens, block_size);
  return std::max(0, end - counts.blocks_held) + counts.copies;
}

/// As many tokens as budget and blocks allow; 0 when not even one fits.
std::int32_t tokens_that_fit(const RunningCounts& counts, StepRoom room, std::int32_t block_size) {
  const std::int64_t blocks = std::int64_t{counts.blocks_held} + room.blocks - counts.copies;
  const std::int64_t in_blocks = blocks * block_size - counts.computed;
  if (room.blocks < counts.copies || in_blocks <= 0) return 0;
  const std::int64_t missing = counts.wanted - counts.computed;
  return static_cast<std::int32_t>(std::min({missing, in_blocks, std::int64_t{room.tokens}}));
}

}  // namespace

RunningPlan plan_running(std::span<const RunningCounts> running, StepRoom room,
                         std::int32_t block_size) {
  RunningPlan plan{.tokens = std::vector<std::int32_t>(running.size(), 0),
                   .victim = {},
                   .left = room,
                   .blocks_promised = 0};
  bool out_of_blocks = false;
  bool any = false;
  const auto grant = [&](std::size_t i) {
    const std::int32_t tokens = tokens_that_fit(running[i], plan.left, block_size);
    if (tokens == 0) {
      out_of_blocks = true;
      return false;
    }
    plan.tokens[i] = tokens;
    plan.left.tokens -= tokens;
    plan.left.blocks -= blocks_taken(running[i], tokens, block_size);
    any = true;
    return true;
  };
  for (std::size_t i = 0; i < running.size() && plan.left.tokens > 0; ++i) {
    if (!is_decode(running[i]) || grant(i)) continue;
    plan.victim = least_computed(running);
    break;
  }
  for (std::size_t i = 0; i < running.size() && plan.left.tokens > 0 && !plan.victim; ++i) {
    if (!is_decode(running[i])) grant(i);
  }
  if (out_of_blocks && !any && !plan.victim) plan.victim = least_computed(running);
  CHECK(!plan.victim || running.size() > 1, "a request alone fits the pool");
  for (std::size_t i = 0; i < running.size(); ++i) {
    const std::int32_t held =
        plan.tokens[i] == 0
            ? running[i].blocks_held
            : std::max(running[i].blocks_held,
                       blocks_for(running[i].computed + plan.tokens[i], block_size));
    plan.blocks_promised += std::max(0, blocks_for(running[i].wanted, block_size) - held);
  }
  return plan;
}

std::int32_t plan_waiting(const WaitingCounts& waiting, StepRoom room, std::int32_t blocks_promised,
                          std::int32_t running_count, std::int32_t block_size) {
  CHECK(waiting.hit_tokens < waiting.wanted, "something is left to compute");
  if (room.tokens <= 0) return 0;
  const std::int32_t needed =
      blocks_for(waiting.wanted, block_size) - waiting.hit_blocks + waiting.hit_taken;
  const std::int32_t headroom = (waiting.resumes ? 2 : 1) * running_count;
  if (std::int64_t{needed} + blocks_promised + headroom > room.blocks) return 0;
  return std::min(waiting.wanted - waiting.hit_tokens, room.tokens);
}

}  // namespace kantha::sched
