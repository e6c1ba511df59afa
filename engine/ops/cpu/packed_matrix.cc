#include "engine/ops/cpu/packed_matrix.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "engine/ops/cpu/kernel_table.h"
#include "engine/ops/cpu/packed_layouts.h"
#include "engine/ops/quant_piece.h"

namespace kantha::ops::cpu {
namespace {

static_assert(kWeightTypes == kDTypeCount);
static_assert(kBlock == kPieceColumns);

constexpr std::int64_t kVectorBytes = 64;
constexpr std::int64_t kWords = 8;  ///< of four columns, in a block

void store_word(std::byte* plane, std::int64_t vector, std::int64_t row, std::uint32_t word) {
  std::memcpy(plane + vector * kVectorBytes + row * 4, &word, sizeof word);
}

/// One plane: `bits` bits of each code from bit `shift` on, of as many words as fit into a vector.
void pack_plane(const std::uint32_t (&words)[kWords], int shift, int bits, std::int64_t row,
                std::byte* plane) {
  const std::uint32_t mask = 0x01010101U * ((1U << bits) - 1);
  const auto field = [&](std::int64_t j) { return words[j] >> shift & mask; };
  switch (bits) {
    case 8:
      for (std::int64_t j = 0; j < kWords; ++j) store_word(plane, j, row, words[j]);
      return;
    case 4:
      for (std::int64_t j = 0; j < 4; ++j) {
        store_word(plane, j, row, field(j) | field(j + 4) << 4);
      }
      return;
    case 2:
      for (std::int64_t i = 0; i < 2; ++i) {
        store_word(
            plane, i, row,
            field(4 * i) | field(4 * i + 1) << 2 | field(4 * i + 2) << 4 | field(4 * i + 3) << 6);
      }
      return;
    default: {
      std::uint32_t word = 0;
      for (std::int64_t j = 0; j < kWords; ++j) word |= field(j) << j;
      store_word(plane, 0, row, word);
    }
  }
}

void pack_codes(const PackedLayout& layout, const QuantPiece& piece, std::int64_t row,
                std::byte* codes) {
  std::uint32_t words[kWords];
  std::memcpy(words, piece.codes, sizeof words);
  pack_plane(words, 0, layout.low_bits, row, codes);
  if (layout.high_bits == 0) return;
  pack_plane(words, layout.low_bits, layout.high_bits, row, codes + layout.low_bits * kVectorBytes);
}

void store_half(std::byte* to, std::int64_t row, std::uint16_t bits) {
  std::memcpy(to + row * 2, &bits, sizeof bits);
}

void pack_scales(const PackedLayout& layout, const QuantPiece& piece, std::int64_t index,
                 std::int64_t row, std::byte* unit) {
  std::byte* scales = unit + layout.scales_at + index * layout.scales_stride;
  std::byte* minimums = unit + layout.minimums_at + index * layout.scales_stride;
  constexpr std::int64_t kHalfBytes = kGroupRows * 2;
  switch (layout.scale_kind) {
    case ScaleKind::kHalf: store_half(scales, row, piece.d); return;
    case ScaleKind::kHalfMinimum:
      store_half(scales, row, piece.d);
      store_half(minimums, row, piece.m);
      return;
    case ScaleKind::kPower: scales[row] = static_cast<std::byte>(piece.d); return;
    case ScaleKind::kSuper32:
      store_half(unit, row, piece.d);
      scales[row] = static_cast<std::byte>(piece.scales[0]);
      return;
    case ScaleKind::kSuper32Minimum:
      store_half(unit, row, piece.d);
      store_half(unit + kHalfBytes, row, piece.m);
      scales[row] = static_cast<std::byte>(piece.scales[0]);
      minimums[row] = static_cast<std::byte>(piece.minimums[0]);
      return;
    case ScaleKind::kSuper16:
      store_half(unit, row, piece.d);
      scales[row] = static_cast<std::byte>(piece.scales[0]);
      scales[kGroupRows + row] = static_cast<std::byte>(piece.scales[1]);
      return;
    case ScaleKind::kSuper16Minimum:
      store_half(unit, row, piece.d);
      store_half(unit + kHalfBytes, row, piece.m);
      for (std::int64_t h = 0; h < 2; ++h) {
        scales[h * kGroupRows + row] =
            static_cast<std::byte>(piece.scales[h] + 16 * piece.minimums[h]);
      }
      return;
  }
}

void pack_quantised_row(const TensorView& from, const std::byte* source, std::int64_t row,
                        std::byte* group) {
  const PackedLayout& layout = packed_layout(from.type);
  const std::int64_t pieces = dtype_block_elements(from.type) / kPieceColumns;
  for (std::int64_t b = 0; b < from.cols / kBlock; ++b) {
    const std::byte* block = source + b / pieces * dtype_block_bytes(from.type);
    const QuantPiece piece = read_piece(from.type, block, b % pieces);
    std::byte* unit = group + b / layout.unit_blocks * layout.unit_bytes;
    const std::int64_t index = b % layout.unit_blocks;
    pack_codes(layout, piece, row, unit + layout.codes_at + index * layout.codes_stride);
    pack_scales(layout, piece, index, row, unit);
  }
}

void pack_float_row(const TensorView& from, const std::byte* source, std::int64_t row,
                    std::byte* group) {
  const std::int64_t bytes = dtype_block_bytes(from.type);
  for (std::int64_t k = 0; k < from.cols; ++k, source += bytes) {
    std::memcpy(group + (k * kGroupRows + row) * bytes, source, static_cast<std::size_t>(bytes));
  }
}

}  // namespace

bool is_quantised(DType type) { return dtype_block_elements(type) > 1; }

const PackedLayout& packed_layout(DType type) {
  switch (type) {
    case DType::kQ4_0: return layouts::kQ4_0;
    case DType::kQ4_1: return layouts::kQ4_1;
    case DType::kQ8_0: return layouts::kQ8_0;
    case DType::kQ5_0: return layouts::kQ5_0;
    case DType::kQ5_1: return layouts::kQ5_1;
    case DType::kQ2_K: return layouts::kQ2_K;
    case DType::kQ3_K: return layouts::kQ3_K;
    case DType::kQ4_K: return layouts::kQ4_K;
    case DType::kQ5_K: return layouts::kQ5_K;
    case DType::kQ6_K: return layouts::kQ6_K;
    case DType::kIQ4_NL: return layouts::kIQ4_NL;
    case DType::kIQ4_XS: return layouts::kIQ4_XS;
    case DType::kMXFP4: return layouts::kMXFP4;
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: break;
  }
  CHECK(false, "a quantised type");
}

std::int64_t panel_bytes(std::int64_t cols, bool is_fine) {
  const std::int64_t blocks = cols / kBlock;
  if (!is_fine) return blocks * kPanelBlockBytes;
  return blocks * kFinePanelBlockBytes + (blocks * kPanelTokens + 63) / 64 * 64;
}

std::int64_t packed_groups(std::int64_t rows) { return (rows + kGroupRows - 1) / kGroupRows; }

std::int64_t packed_group_bytes(DType type, std::int64_t cols) {
  if (is_quantised(type)) {
    const PackedLayout& layout = packed_layout(type);
    return (cols / kBlock + layout.unit_blocks - 1) / layout.unit_blocks * layout.unit_bytes;
  }
  return (cols * kGroupRows * dtype_block_bytes(type) + 63) / 64 * 64;
}

void pack_group(const TensorView& from, std::int64_t index, std::byte* to) {
  CHECK(from.cols % dtype_block_elements(from.type) == 0);
  CHECK(static_cast<std::int64_t>(from.bytes.size()) >= from.rows * from.row_bytes());
  const std::int64_t first = index * kGroupRows;
  const std::int64_t rows = std::min(kGroupRows, from.rows - first);
  const auto pack_row = is_quantised(from.type) ? pack_quantised_row : pack_float_row;
  for (std::int64_t row = 0; row < rows; ++row) {
    // Rows of padding keep zeros, and with them a scale or values that give 0 (kernel_table.h).
    pack_row(from, from.bytes.data() + (first + row) * from.row_bytes(), row, to);
  }
}

}  // namespace kantha::ops::cpu
