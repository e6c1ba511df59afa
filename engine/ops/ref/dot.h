#pragma once

#include <array>
#include <cstddef>

/// The one dot product of the reference: 16 running f32 sums, element i into sum i mod 16, then the
/// sums added in order. The order is fixed, so that a result has the same bits wherever it is
/// computed, and the compiler can keep the sums in vector registers without reordering anything.
namespace kantha::ops::ref {

inline constexpr std::size_t kLanes = 16;

/// Adds up the 16 sums, first to last.
inline float sum_lanes(const std::array<float, kLanes>& lanes) {
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

/// a [count] · b [count], f32.
inline float dot(const float* a, const float* b, std::size_t count) {
  std::array<float, kLanes> lanes = {};
  const std::size_t whole = count - count % kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += a[i + l] * b[i + l];
  }
  for (std::size_t i = whole; i < count; ++i) lanes[i - whole] += a[i] * b[i];
  return sum_lanes(lanes);
}

}  // namespace kantha::ops::ref
