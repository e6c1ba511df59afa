#include "noded/models/retry_rules.h"

#include <algorithm>

namespace kantha::noded {
namespace {

/// A server that changes its file between any two requests is not to be waited for.
constexpr int kAnewMax = 3;

Duration doubled(Duration first, int times, Duration max) {
  Duration out = first;
  for (int i = 1; i < times && out < max; ++i) out *= 2;
  return std::min(out, max);
}

RetryStep hold(RetryState state, const RetryPolicy& policy) {
  const int rounds = state.rounds + 1;
  return {.state = {.rounds = rounds},
          .move = NextMove::kHold,
          .wait = doubled(policy.hold_first, rounds, policy.hold_max)};
}

}  // namespace

RetryStep retry_step(RetryState state, AttemptEnd end, bool progress, Duration asked,
                     std::size_t mirrors, double chance, const RetryPolicy& policy) {
  if (progress) state.failures_in_row = state.refused_in_row = 0;
  if (end == AttemptEnd::kAnew && ++state.anew_in_row <= kAnewMax) {
    return {.state = state, .move = NextMove::kTryNow};
  }
  if (end == AttemptEnd::kNoSpace) return hold(state, policy);
  state.mirror = (state.mirror + 1) % std::max<std::size_t>(1, mirrors);
  if (end == AttemptEnd::kRefused) {
    if (static_cast<std::size_t>(++state.refused_in_row) >= mirrors) return hold(state, policy);
    return {.state = state, .move = NextMove::kTryNow};
  }
  ++state.failures_in_row;
  if (state.failures_in_row >= policy.failures_max) return hold(state, policy);
  // The first failure of each mirror leads to the next one at once.
  if (static_cast<std::size_t>(state.failures_in_row) < mirrors) {
    return {.state = state, .move = NextMove::kTryNow};
  }
  const Duration pause = doubled(policy.pause_first, state.failures_in_row, policy.pause_max);
  const auto shortened = std::chrono::duration_cast<Duration>(pause * (1 - chance / 4));
  return {.state = state, .move = NextMove::kPause, .wait = std::max(shortened, asked)};
}

}  // namespace kantha::noded
