#pragma once

#include <span>

namespace kantha::ops::ref {

/// scores [n] become exp(score − max) / sum, in place; exponentials in f32, their sum in f64. n
/// ≥ 1. Any thread.
void softmax(std::span<float> scores);

}  // namespace kantha::ops::ref
