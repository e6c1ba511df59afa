#include "engine/ops/ref/matmul.h"

#include "base/check.h"
#include "engine/ops/ref/dequantize.h"
#include "engine/ops/ref/dot.h"

namespace kantha::ops::ref {
namespace {

constexpr std::size_t kTogether = 3;  // 3 · 16 sums and one weight fill the 16 SSE registers

/// kTogether times dot(), of one weight row with as many rows of x: the same operations in the same
/// order for each, but a weight is loaded once.
void dot_together(const float* w, const float* x, std::size_t count, float* y,
                  std::size_t y_stride) {
  std::array<std::array<float, kLanes>, kTogether> lanes = {};
  const std::size_t whole = count - count % kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t t = 0; t < kTogether; ++t) {
      for (std::size_t l = 0; l < kLanes; ++l) lanes[t][l] += w[i + l] * x[t * count + i + l];
    }
  }
  for (std::size_t t = 0; t < kTogether; ++t) {
    for (std::size_t i = whole; i < count; ++i) lanes[t][i - whole] += w[i] * x[t * count + i];
    y[t * y_stride] = sum_lanes(lanes[t]);
  }
}

}  // namespace

void matmul(const TensorView& weights, std::span<const float> x, std::span<float> y,
            std::span<float> row) {
  const auto cols = static_cast<std::size_t>(weights.cols);
  const auto rows = static_cast<std::size_t>(weights.rows);
  CHECK(cols > 0 && x.size() % cols == 0, "x [T, cols]");
  const std::size_t count = x.size() / cols;
  CHECK(y.size() == count * rows, "y [T, rows]");
  CHECK(row.size() >= cols, "row [cols]");
  for (std::size_t r = 0; r < rows; ++r) {
    dequantize_row(weights, static_cast<std::int64_t>(r), row.first(cols));
    std::size_t t = 0;
    for (; t + kTogether <= count; t += kTogether) {
      dot_together(row.data(), &x[t * cols], cols, &y[t * rows + r], rows);
    }
    for (; t < count; ++t) y[t * rows + r] = dot(row.data(), &x[t * cols], cols);
  }
}

}  // namespace kantha::ops::ref
