#pragma once

#include <cstdint>

#include "base/clock.h"

/// How long a watcher waits after a fault. Plain data; pure.
/// Source: client-go's reflector (0.8 s × 2, jitter 1.0, cap 30 s, reset after two minutes).
namespace kantha::runtime {

/// The waits double from 0.8 s and each is stretched by up to its own length at random, never
/// beyond 30 s; two minutes without a fault begin the row anew.
class FaultBackoff {
 public:
  explicit FaultBackoff(std::uint64_t seed = 0) : seed_(seed) {}

  /// The wait after a fault at `now`.
  Duration next(TimePoint now);
  /// The same, but none for the first fault after a quiet time.
  Duration next_unless_first(TimePoint now);
  /// Faults in this row.
  int fault_count() const { return fault_count_; }
  /// A number in [0, 1) that differs from call to call, for other things that must be spread.
  double random();

 private:
  void count(TimePoint now);
  Duration wait_for_count(TimePoint now);

  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  int fault_count_ = 0;
  TimePoint calm_since_{};  ///< when the last wait was over
};

}  // namespace kantha::runtime
