#include "engine/ops/cpu/shared_stages.h"

#include "base/check.h"

namespace kantha::ops::cpu {
namespace {

constexpr std::uint64_t kInsideMask = 0xffffffff;

}  // namespace

SharedStages::SharedStages(int threads)
    : threads_(threads), parts_(static_cast<std::size_t>(threads) * 2) {
  CHECK(threads >= 1);
}

void SharedStages::reset() {
  clear(0);
  state_.store(0, std::memory_order_relaxed);
}

void SharedStages::clear(std::uint32_t stage) {
  Part* all = parts(stage);
  for (int i = 0; i < threads_; ++i) all[i].taken.store(0, std::memory_order_relaxed);
}

bool SharedStages::enter(std::uint32_t stage) {
  std::uint64_t state = state_.load(std::memory_order_relaxed);
  while (stage_of(state) == stage) {
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) return true;
  }
  CHECK(stage_of(state) > stage, "stages are entered in order");
  return false;
}

void SharedStages::leave(std::uint32_t stage) {
  std::uint64_t state = state_.load(std::memory_order_relaxed);
  for (;;) {
    const bool last = (state & kInsideMask) == 1;
    // Nobody claims from the next stage while this thread is inside this one.
    if (last) clear(stage + 1);
    const std::uint64_t next = last ? std::uint64_t{stage + 1} << 32 : state - 1;
    if (!state_.compare_exchange_weak(state, next, std::memory_order_acq_rel)) continue;
    if (last) opened_.advance();
    return;
  }
}

void SharedStages::wait(std::uint32_t stage) {
  for (;;) {
    const std::uint32_t seen = opened_.load();
    if (stage_of(state_.load(std::memory_order_acquire)) > stage) return;
    opened_.wait_while(seen);
  }
}

}  // namespace kantha::ops::cpu
