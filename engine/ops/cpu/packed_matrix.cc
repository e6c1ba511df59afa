#include "engine/ops/cpu/packed_matrix.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "engine/ops/cpu/kernel_table.h"

namespace kantha::ops::cpu {
namespace {

// Bytes of a 32-block's vectors, and of the scales of 16 rows.
constexpr std::int64_t kNibbleBytes = kGroupRows * kBlock / 2;
constexpr std::int64_t kByteBytes = kGroupRows * kBlock;
constexpr std::int64_t kScaleBytes = kGroupRows * 2;

void pack_q4_1_block(const std::byte* from, std::int64_t row, std::byte* block) {
  std::memcpy(block + kNibbleBytes + row * 2, from, 2);
  std::memcpy(block + kNibbleBytes + kScaleBytes + row * 2, from + 2, 2);
  for (std::int64_t j = 0; j < 4; ++j) std::memcpy(block + j * 64 + row * 4, from + 4 + j * 4, 4);
}

void pack_q4_0_block(const std::byte* from, std::int64_t b, std::int64_t row, std::byte* group) {
  std::byte* pair = group + b / 2 * (2 * (kNibbleBytes + kScaleBytes));
  std::memcpy(pair + 2 * kNibbleBytes + b % 2 * kScaleBytes + row * 2, from, 2);
  std::byte* vectors = pair + b % 2 * kNibbleBytes;
  for (std::int64_t j = 0; j < 4; ++j) std::memcpy(vectors + j * 64 + row * 4, from + 2 + j * 4, 4);
}

void pack_q8_0_block(const std::byte* from, std::int64_t b, std::int64_t row, std::byte* group) {
  std::byte* pair = group + b / 2 * (2 * (kByteBytes + kScaleBytes));
  std::memcpy(pair + 2 * kByteBytes + b % 2 * kScaleBytes + row * 2, from, 2);
  std::byte* vectors = pair + b % 2 * kByteBytes;
  for (std::int64_t j = 0; j < 8; ++j) {
    std::uint32_t dword;
    std::memcpy(&dword, from + 2 + j * 4, 4);
    dword ^= 0x80808080U;
    std::memcpy(vectors + j * 64 + row * 4, &dword, 4);
  }
}

void pack_row(const TensorView& from, const std::byte* source, std::int64_t row, std::byte* group) {
  const std::int64_t bytes = dtype_block_bytes(from.type);
  const std::int64_t blocks = from.cols / dtype_block_elements(from.type);
  for (std::int64_t b = 0; b < blocks; ++b, source += bytes) {
    switch (from.type) {
      case DType::kQ4_1:
        pack_q4_1_block(source, row, group + b * (kNibbleBytes + 2 * kScaleBytes));
        break;
      case DType::kQ4_0: pack_q4_0_block(source, b, row, group); break;
      case DType::kQ8_0: pack_q8_0_block(source, b, row, group); break;
      case DType::kF32:
      case DType::kF16:
      case DType::kBF16:
        std::memcpy(group + (b * kGroupRows + row) * bytes, source,
                    static_cast<std::size_t>(bytes));
        break;
    }
  }
}

}  // namespace

bool is_quantised(DType type) { return dtype_block_elements(type) > 1; }

std::int64_t packed_groups(std::int64_t rows) { return (rows + kGroupRows - 1) / kGroupRows; }

std::int64_t packed_group_bytes(DType type, std::int64_t cols) {
  const std::int64_t blocks = cols / kBlock;
  switch (type) {
    case DType::kQ4_1: return blocks * (kNibbleBytes + 2 * kScaleBytes);
    case DType::kQ4_0: return (blocks + 1) / 2 * 2 * (kNibbleBytes + kScaleBytes);
    case DType::kQ8_0: return (blocks + 1) / 2 * 2 * (kByteBytes + kScaleBytes);
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: break;
  }
  return (cols * kGroupRows * dtype_block_bytes(type) + 63) / 64 * 64;
}

void pack_group(const TensorView& from, std::int64_t index, std::byte* to) {
  CHECK(from.cols % dtype_block_elements(from.type) == 0);
  CHECK(static_cast<std::int64_t>(from.bytes.size()) >= from.rows * from.row_bytes());
  const std::int64_t first = index * kGroupRows;
  const std::int64_t rows = std::min(kGroupRows, from.rows - first);
  for (std::int64_t row = 0; row < rows; ++row) {
    // A row of a Q8_0 group has q = 0 stored as 0x80; rows of padding keep 0 with a scale of 0.
    pack_row(from, from.bytes.data() + (first + row) * from.row_bytes(), row, to);
  }
}

}  // namespace kantha::ops::cpu
