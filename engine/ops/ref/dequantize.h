#pragma once

#include <cstdint>
#include <span>

#include "engine/ops/tensor.h"

/// What the bytes of a weight mean: the definition that every faster path is held against.
namespace kantha::ops::ref {

/// Writes row `row` of `weights` [rows, cols] to out [cols] as f32. f16 and bf16 widen exactly; Q
/// types follow the formulas in quant_piece.h, each product and sum rounded to f32. The bytes need
/// no alignment. Any thread.
void dequantize_row(const TensorView& weights, std::int64_t row, std::span<float> out);

/// IEEE 754 binary16 to f32, exact.
float f16_to_f32(std::uint16_t bits);

}  // namespace kantha::ops::ref
