#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/ops/cpu/thread_pool.h"

namespace kantha::ops::cpu {

/// Work that a pool's threads do together, stage after stage, without waiting for one that has
/// nothing in hand: a thread that lost its core between two items is not missed, the others do its
/// share, and it catches up later by passing over the stages that are done.
///
/// A stage opens when the one before it is done: when all its items are, and everybody who had
/// entered it has left. All threads go through the same stages in the same order:
///
///     for (std::uint32_t stage = 0; stage < count; ++stage) {
///       if (stages.enter(stage)) {
///         ... read what earlier stages wrote ...
///         stages.take(thread, items, [&](std::int64_t item) { ... });
///         stages.leave(stage);
///       }
///       stages.wait(stage);
///     }
///
/// What was written inside a stage is visible to all who enter a later one or have waited for it.
class SharedStages {
 public:
  explicit SharedStages(int threads);
  SharedStages(const SharedStages&) = delete;
  SharedStages& operator=(const SharedStages&) = delete;

  /// Back to stage 0. Only while no thread is at work.
  void reset();

  /// False when the stage is done already: the caller has no business in it. The stages before it
  /// must be done.
  bool enter(std::uint32_t stage);

  /// Inside a stage: calls visit(item) for items of [0, count) until none is left to take. Each
  /// thread starts at its own part of them, in order, and then takes from the ends of the others'.
  /// Every thread must call it with the same count, and once a stage.
  template <class Visit>
  void take(int thread, std::int64_t count, Visit visit);
  /// The same, but all take from one row: items start in order.
  template <class Visit>
  void take_in_order(std::int64_t count, Visit visit);

  /// Leaves an entered stage, after take(). The last one out opens the next stage.
  void leave(std::uint32_t stage);
  /// Returns once the stage is done.
  void wait(std::uint32_t stage);

 private:
  /// How many items of one thread's part were taken: from the front in the low half, from the end
  /// in the high half. Their sum before a claim is the claim's number: it is good if below the
  /// part's size, so one addition is all that a claim costs.
  struct alignas(64) Part {
    std::atomic<std::uint64_t> taken = 0;
  };
  static constexpr std::uint64_t kOneFromFront = 1;
  static constexpr std::uint64_t kOneFromEnd = std::uint64_t{1} << 32;

  /// The claimed index within a part of `size` items, or -1 when all are taken.
  static std::int64_t claim(Part& part, std::int64_t size, bool from_front) {
    const std::uint64_t before =
        part.taken.fetch_add(from_front ? kOneFromFront : kOneFromEnd, std::memory_order_relaxed);
    const auto front = static_cast<std::int64_t>(before & 0xffffffff);
    const auto end = static_cast<std::int64_t>(before >> 32);
    if (front + end >= size) return -1;
    return from_front ? front : size - 1 - end;
  }
  Part* parts(std::uint32_t stage) { return parts_.data() + stage % 2 * parts_.size() / 2; }
  Part* open_parts() { return parts(stage_of(state_.load(std::memory_order_relaxed))); }
  void clear(std::uint32_t stage);
  static std::uint32_t stage_of(std::uint64_t state) {
    return static_cast<std::uint32_t>(state >> 32);
  }

  const int threads_;
  std::vector<Part> parts_;  ///< [2, threads]: the open stage's and the next one's
  /// The open stage in the high half, how many threads are inside in the low half.
  alignas(64) std::atomic<std::uint64_t> state_ = 0;
  ParkingWord opened_;  ///< advances when a stage opens
};

template <class Visit>
void SharedStages::take(int thread, std::int64_t count, Visit visit) {
  Part* all = open_parts();
  for (int i = 0; i < threads_; ++i) {
    const int part = (thread + i) % threads_;
    const std::int64_t begin = count * part / threads_;
    const std::int64_t size = count * (part + 1) / threads_ - begin;
    for (;;) {
      const std::int64_t index = claim(all[part], size, i == 0);
      if (index < 0) break;
      visit(begin + index);
    }
  }
}

template <class Visit>
void SharedStages::take_in_order(std::int64_t count, Visit visit) {
  Part& all = open_parts()[0];
  for (;;) {
    const std::int64_t index = claim(all, count, true);
    if (index < 0) return;
    visit(index);
  }
}

}  // namespace kantha::ops::cpu
