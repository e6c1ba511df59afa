#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/ops/tensor.h"

namespace kantha::ops::cpu {

/// A weight matrix rearranged for the kernels: groups of 16 rows, rows padded with zeros to whole
/// groups, blocks of 32 columns one after the other inside a group. Per group:
///
///   Q4_1  per block 320 B: four 64-byte vectors, then f16 d [16], f16 m [16]. Dword lane r of
///   vector
///         j holds row r: low nibbles are columns 4j … 4j + 3, high nibbles 16 + 4j ….
///   Q4_0  per two blocks 576 B: the vectors of both, then f16 d [2, 16].
///   Q8_0  per two blocks 1,088 B: 2 · eight vectors of q ^ 0x80 (vector j = columns 4j …), then
///         f16 d [2, 16].
///   F32, F16, BF16  per column 16 values of the same type, unchanged.
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

/// Groups of 16 that `rows` rows take.
std::int64_t packed_groups(std::int64_t rows);

/// Bytes of one packed group, a multiple of 64 for whole vectors' sake.
std::int64_t packed_group_bytes(DType type, std::int64_t cols);

/// Writes group `index` of `from` to `to` [packed_group_bytes], which must be zeroed. The source
/// may be unaligned. Threads may pack different groups at once.
void pack_group(const TensorView& from, std::int64_t index, std::byte* to);

}  // namespace kantha::ops::cpu
