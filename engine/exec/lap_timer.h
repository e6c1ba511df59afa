#pragma once

#include <utility>

#include "base/clock.h"

namespace kantha::exec {

/// Splits a stretch of time into laps, one clock read each. The clock outlives it.
class LapTimer {
 public:
  explicit LapTimer(const Clock& clock) : clock_(clock), last_(clock.now()) {}

  /// Time since the last lap ended.
  Duration lap() {
    const TimePoint now = clock_.now();
    return now - std::exchange(last_, now);
  }
  /// When the last lap ended.
  TimePoint last() const { return last_; }

 private:
  const Clock& clock_;
  TimePoint last_;
};

}  // namespace kantha::exec
