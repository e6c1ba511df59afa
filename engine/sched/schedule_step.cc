#include "engine/sched/schedule_step.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace kantha::sched {
namespace {

bool is_decode(const RunningCounts& counts) { return counts.wanted - counts.computed == 1; }

std::int32_t missing(const RunningCounts& counts) { return counts.wanted - counts.computed; }

}  // namespace

std::int32_t blocks_taken(const RunningCounts& counts, std::int32_t tokens, BlockShape shape) {
  const std::int32_t rows = (counts.computed + tokens + shape.tokens - 1) / shape.tokens;
  return std::max(0, rows - counts.rows) * shape.groups + counts.copies;
}

std::int32_t tokens_that_fit(const RunningCounts& counts, StepRoom room, BlockShape shape) {
  if (room.blocks < counts.copies) return 0;
  const std::int64_t rows = counts.rows + (room.blocks - counts.copies) / shape.groups;
  const std::int64_t in_rows = rows * shape.tokens - counts.computed;
  if (in_rows <= 0) return 0;
  return static_cast<std::int32_t>(
      std::min({std::int64_t{missing(counts)}, in_rows, std::int64_t{room.tokens}}));
}

bool plan_decodes(std::span<const RunningCounts> running, StepRoom room, BlockShape shape,
                  std::vector<std::size_t>& served) {
  served.clear();
  for (std::size_t i = 0; i < running.size(); ++i) {
    if (is_decode(running[i])) served.push_back(i);
  }
  const auto budget = static_cast<std::size_t>(room.tokens);
  if (served.size() > budget) {
    const auto before = [&](std::size_t a, std::size_t b) {
      return std::tie(running[a].turn, a) < std::tie(running[b].turn, b);
    };
    const auto end = served.begin() + static_cast<std::ptrdiff_t>(budget);
    std::ranges::partial_sort(served, end, before);
    served.erase(end, served.end());
  }
  for (const std::size_t i : served) {
    if (tokens_that_fit(running[i], room, shape) == 0) return false;
    room.blocks -= blocks_taken(running[i], 1, shape);
  }
  return true;
}

std::size_t choose_victim(std::span<const RunningCounts> running, VictimRule rule) {
  CHECK(running.size() > 1, "a request alone fits the pool");
  const auto standing = [&](std::size_t i) {
    const std::int32_t work = rule == VictimRule::kNewest ? 0 : running[i].computed;
    return std::tuple(-std::int64_t{running[i].priority}, running[i].batch ? 0 : 1, work);
  };
  std::size_t victim = 0;
  for (std::size_t i = 1; i < running.size(); ++i) {
    if (standing(i) <= standing(victim)) victim = i;
  }
  return victim;
}

void order_prefills(std::span<const RunningCounts> running, std::vector<std::size_t>& order) {
  order.clear();
  for (std::size_t i = 0; i < running.size(); ++i) {
    if (!is_decode(running[i])) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::tuple(running[i].priority, missing(running[i]), i);
  });
}

OldestShare share_of_oldest(std::span<const RunningCounts> running, std::int32_t budget) {
  OldestShare share;
  for (std::size_t i = 0; i < running.size(); ++i) {
    if (is_decode(running[i])) continue;
    if (!share.index || running[i].priority < running[*share.index].priority) share.index = i;
  }
  if (share.index) share.tokens = std::min(missing(running[*share.index]), (budget + 3) / 4);
  return share;
}

std::int32_t plan_waiting(const WaitingCounts& waiting, StepRoom room, std::int32_t running_count,
                          BlockShape shape) {
  CHECK(waiting.known < waiting.wanted, "something is left to compute");
  if (room.tokens <= 0) return 0;
  const std::int64_t headroom =
      std::int64_t{waiting.resumes ? 2 : 1} * running_count * shape.groups;
  if (waiting.needed + headroom > room.blocks) return 0;
  return std::min(waiting.wanted - waiting.known, room.tokens);
}

}  // namespace kantha::sched
