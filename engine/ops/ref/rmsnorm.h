#pragma once

#include <span>

/// Root-mean-square normalisation (Zhang, Sennrich: "Root mean square layer normalization", 2019).
namespace kantha::ops::ref {

/// y [T, width] = x [T, width] / sqrt(mean(x²) + epsilon) · weight [width], per row. The mean is
/// summed in f64; y may be x. Any thread.
void rmsnorm(std::span<const float> x, std::span<const float> weight, float epsilon,
             std::span<float> y);

}  // namespace kantha::ops::ref
