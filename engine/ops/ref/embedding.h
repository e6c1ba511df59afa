#pragma once

#include <span>

#include "base/ids.h"
#include "engine/ops/tensor.h"

namespace kantha::ops::ref {

/// out [T, width] = the rows of table [vocabulary, width] that token_ids [T] name, as f32. CHECKs
/// that every id is within the table. Any thread.
void embed(const TensorView& table, std::span<const TokenId> token_ids, std::span<float> out);

}  // namespace kantha::ops::ref
