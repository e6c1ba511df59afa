#pragma once

#include <cstdint>

#include "engine/ops/tensor.h"

namespace kantha::ops::cpu {

/// to [cols] f32 = row `row` of `table` dequantised; Q4_1 as d·q + m with both steps rounded.
void embedding_row(const TensorView& table, std::int64_t row, float* to);

}  // namespace kantha::ops::cpu
