#include "engine/ops/ref/rope.h"

#include <cmath>
#include <cstddef>

#include "base/check.h"

namespace kantha::ops::ref {

void rope(std::span<float> x, std::span<const std::int32_t> positions, const RopeShape& shape) {
  CHECK(shape.dims % 2 == 0 && shape.dims <= shape.head_size, "whole pairs within a head");
  if (positions.empty()) return;
  const std::size_t row_size = x.size() / positions.size();
  const auto head_size = static_cast<std::size_t>(shape.head_size);
  CHECK(x.size() == row_size * positions.size() && row_size % head_size == 0,
        "x [T, heads, head_size]");
  const auto pairs = static_cast<std::size_t>(shape.dims / 2);
  CHECK(shape.frequencies.empty() || shape.frequencies.size() == pairs, "a frequency per pair");
  const std::size_t apart = shape.is_halves ? pairs : 1;
  const std::size_t step = shape.is_halves ? 1 : 2;
  for (std::size_t t = 0; t < positions.size(); ++t) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const double frequency =
          shape.frequencies.empty()
              ? std::pow(double{shape.base}, -static_cast<double>(2 * i) / shape.dims)
              : shape.frequencies[i];
      const double angle = positions[t] * frequency;
      const float cosine = static_cast<float>(std::cos(angle)) * shape.magnitude;
      const float sine = static_cast<float>(std::sin(angle)) * shape.magnitude;
      for (std::size_t head = 0; head < row_size; head += head_size) {
        float* first = &x[t * row_size + head + i * step];
        const float a = first[0];
        const float b = first[apart];
        first[0] = a * cosine - b * sine;
        first[apart] = a * sine + b * cosine;
      }
    }
  }
}

}  // namespace kantha::ops::ref
