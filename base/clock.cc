#include "base/clock.h"

namespace kantha {
namespace {

class SystemClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
  WallTime wall_now() const override { return std::chrono::system_clock::now(); }
};

}  // namespace

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

TimePoint FakeClock::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

WallTime FakeClock::wall_now() const {
  const std::lock_guard lock(mutex_);
  return wall_;
}

void FakeClock::advance(Duration step) {
  const std::lock_guard lock(mutex_);
  now_ += step;
  wall_ += std::chrono::duration_cast<WallTime::duration>(step);
}

}  // namespace kantha
