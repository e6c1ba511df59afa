#include "operator/runtime/fault_backoff.h"

#include <algorithm>

#include "base/rng.h"

namespace kantha::runtime {
namespace {

constexpr Duration kFirst = std::chrono::milliseconds(800);
constexpr Duration kLongest = std::chrono::seconds(30);
constexpr Duration kCalm = std::chrono::minutes(2);

}  // namespace

double FaultBackoff::random() { return random_unit(seed_, draws_++); }

void FaultBackoff::count(TimePoint now) {
  if (fault_count_ > 0 && now - calm_since_ >= kCalm) fault_count_ = 0;
  ++fault_count_;
}

Duration FaultBackoff::wait_for_count(TimePoint now) {
  // Half of the cap, so that waits are still spread when it is reached.
  Duration base = kFirst;
  for (int i = 1; i < fault_count_ && base < kLongest / 2; ++i) base *= 2;
  base = std::min(base, kLongest / 2);
  const Duration wait = base + std::chrono::duration_cast<Duration>(base * random());
  calm_since_ = now + wait;
  return wait;
}

Duration FaultBackoff::next(TimePoint now) {
  count(now);
  return wait_for_count(now);
}

Duration FaultBackoff::next_unless_first(TimePoint now) {
  count(now);
  if (fault_count_ > 1) return wait_for_count(now);
  calm_since_ = now;
  return Duration::zero();
}

}  // namespace kantha::runtime
