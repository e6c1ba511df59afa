#pragma once

#include <cstdint>
#include <span>

/// Rotary positions (Su et al.: "RoFormer", 2021).
namespace kantha::ops::ref {

/// How heads are rotated.
struct RopeShape {
  std::int32_t head_size = 0;
  std::int32_t dims = 0;  ///< rotated elements at the front of each head, even, ≤ head_size
  float base = 10000.0F;
  /// [dims / 2] radians per position; empty: base^(−2i / dims).
  std::span<const double> frequencies = {};
  float magnitude = 1;     ///< factor on cosines and sines
  bool is_halves = false;  ///< pair i is (i, i + dims / 2) instead of (2i, 2i + 1)
};

/// Rotates x [T, heads, head_size] in place: pair i of a row at position p turns by p times its
/// frequency. T follows from positions, heads from x. Angles, sine and cosine in f64, the rotation
/// in f32. Any thread.
void rope(std::span<float> x, std::span<const std::int32_t> positions, const RopeShape& shape);

}  // namespace kantha::ops::ref
