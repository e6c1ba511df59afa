#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace kantha::serve {

/// Quantiles of recent durations at 5 %, in a few kilobytes: counts in buckets that grow by a tenth
/// from 50 µs on, over the last 30 to 60 seconds. Pure; one thread.
class LatencySketch {
 public:
  void observe(double seconds, TimePoint now);
  /// What the last 30 to 60 s hold.
  std::int64_t count(TimePoint now) const;
  /// Upper end of the bucket with the q-th share (0 < q ≤ 1), in seconds; 0 when empty.
  double quantile(double q, TimePoint now) const;

 private:
  static constexpr std::size_t kBuckets = 180;
  struct Window {
    std::int64_t number = -1;  ///< which 30 s of the clock
    std::int64_t total = 0;
    std::array<std::uint32_t, kBuckets> counts{};
  };

  bool is_recent(const Window& window, TimePoint now) const;

  std::array<Window, 2> windows_;
};

}  // namespace kantha::serve
