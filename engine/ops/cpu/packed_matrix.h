#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/ops/cpu/packed_layout.h"
#include "engine/ops/tensor.h"

namespace kantha::ops::cpu {

/// A weight matrix rearranged for the kernels: groups of 16 rows, rows padded with zeros to whole
/// groups, columns one block after the other inside a group. Quantised types lie as packed_layout.h
/// says, with 1 … 1.06 times the file's bytes; F32, F16 and BF16 have per column 16 values of the
/// same type, unchanged.
///
/// Borrowed: the bytes live in an arena. `group_stride` lets two matrices alternate group by group.
struct PackedMatrix {
  DType type = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t groups = 0;
  std::int64_t group_stride = 0;  ///< bytes from one group to the next
  std::byte* data = nullptr;

  const std::byte* group(std::int64_t index) const { return data + index * group_stride; }
};

/// True for the types whose activations are quantised.
bool is_quantised(DType type);

/// How a quantised type is packed.
const PackedLayout& packed_layout(DType type);

/// Groups of 16 that `rows` rows take.
std::int64_t packed_groups(std::int64_t rows);

/// Bytes of one packed group, a multiple of 64 for whole vectors' sake.
std::int64_t packed_group_bytes(DType type, std::int64_t cols);

/// Bytes of a panel of 8 tokens' activations, fine or not (kernel_table.h), a multiple of 64.
std::int64_t panel_bytes(std::int64_t cols, bool is_fine);

/// Writes group `index` of `from` to `to` [packed_group_bytes], which must be zeroed. The source
/// may be unaligned. Threads may pack different groups at once.
void pack_group(const TensorView& from, std::int64_t index, std::byte* to);

}  // namespace kantha::ops::cpu
