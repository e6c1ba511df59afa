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
  for (std::size_t t = 0; t < positions.size(); ++t) {
    for (std::int32_t i = 0; i < shape.dims; i += 2) {
      const double angle =
          positions[t] * std::pow(double{shape.base}, -static_cast<double>(i) / shape.dims);
      const auto cosine = static_cast<float>(std::cos(angle));
      const auto sine = static_cast<float>(std::sin(angle));
      for (std::size_t head = 0; head < row_size; head += head_size) {
        float* pair = &x[t * row_size + head + static_cast<std::size_t>(i)];
        const float first = pair[0];
        const float second = pair[1];
        pair[0] = first * cosine - second * sine;
        pair[1] = first * sine + second * cosine;
      }
    }
  }
}

}  // namespace kantha::ops::ref
