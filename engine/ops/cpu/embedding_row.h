#pragma once

#include <cstdint>

#include "engine/ops/tensor.h"

namespace kantha::ops::cpu {

/// to [cols] f32 = row `row` of `table` dequantised, with the bits of ref/dequantize.h.
void embedding_row(const TensorView& table, std::int64_t row, float* to);

}  // namespace kantha::ops::cpu
