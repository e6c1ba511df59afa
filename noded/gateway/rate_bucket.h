#pragma once

#include <cstdint>

#include "base/clock.h"

namespace kantha::noded {

/// A token bucket: so much a minute, at most a minute's worth at once. What is taken may be more
/// than there is (the use of tokens is known only afterwards); the debt is paid before anything
/// else is let in. Pure; one thread.
class RateBucket {
 public:
  /// A new rate from now on; the level keeps its distance from full. 0: no bound.
  void set_rate(double per_minute, TimePoint now);
  bool is_bound() const { return per_minute_ > 0; }
  double per_minute() const { return per_minute_; }

  /// What may be taken now; negative: a debt.
  double level(TimePoint now) const;
  /// Until the level is at least so much; zero when it is, or when nothing binds.
  Duration until(double amount, TimePoint now) const;
  void take(double amount, TimePoint now);

 private:
  double per_minute_ = 0;
  double level_ = 0;
  TimePoint at_{};
};

}  // namespace kantha::noded
