#include "engine/ops/ref/rmsnorm.h"

#include <cmath>
#include <cstddef>

#include "base/check.h"

namespace kantha::ops::ref {

void rmsnorm(std::span<const float> x, std::span<const float> weight, float epsilon,
             std::span<float> y) {
  const std::size_t width = weight.size();
  CHECK(width > 0 && x.size() % width == 0, "x [T, width]");
  CHECK(y.size() == x.size(), "y [T, width]");
  for (std::size_t at = 0; at < x.size(); at += width) {
    double squares = 0;
    for (std::size_t i = 0; i < width; ++i) squares += double{x[at + i]} * double{x[at + i]};
    const double mean = squares / static_cast<double>(width);
    const auto scale = static_cast<float>(1.0 / std::sqrt(mean + double{epsilon}));
    for (std::size_t i = 0; i < width; ++i) y[at + i] = x[at + i] * scale * weight[i];
  }
}

}  // namespace kantha::ops::ref
