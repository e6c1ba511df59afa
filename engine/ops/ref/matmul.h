#pragma once

#include <span>

#include "engine/ops/tensor.h"

/// The linear layer.
namespace kantha::ops::ref {

/// y [T, rows] = x [T, cols] · weights [rows, cols]ᵀ, all f32 after dequantisation; T follows from
/// x. Each output is one dot product (dot.h), so a row of y depends on its row of x alone, bit for
/// bit. `row` [cols] is scratch space. Any thread.
void matmul(const TensorView& weights, std::span<const float> x, std::span<float> y,
            std::span<float> row);

}  // namespace kantha::ops::ref
