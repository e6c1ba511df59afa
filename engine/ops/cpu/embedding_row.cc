#include "engine/ops/cpu/embedding_row.h"

#include <bit>
#include <cstring>

#include "base/check.h"

namespace kantha::ops::cpu {
namespace {

float half_at(const std::byte* p) {
  _Float16 half;
  std::memcpy(&half, p, 2);
  return static_cast<float>(half);
}

float bf16_at(const std::byte* p) {
  std::uint16_t bits;
  std::memcpy(&bits, p, 2);
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

float float_at(const std::byte* p) {
  float value;
  std::memcpy(&value, p, 4);
  return value;
}

void nibbles(const std::byte* qs, float scale, int zero, float minimum, float* to) {
  for (int i = 0; i < 16; ++i) {
    const int q = std::to_integer<int>(qs[i]);
    to[i] = scale * static_cast<float>((q & 15) - zero) + minimum;
    to[i + 16] = scale * static_cast<float>((q >> 4) - zero) + minimum;
  }
}

void bytes(const std::byte* qs, float scale, float* to) {
  for (int i = 0; i < 32; ++i) {
    to[i] = scale * static_cast<float>(std::to_integer<std::int8_t>(qs[i]));
  }
}

}  // namespace

void embedding_row(const TensorView& table, std::int64_t row, float* to) {
  CHECK(row >= 0 && row < table.rows);
  const std::byte* from = table.bytes.data() + row * table.row_bytes();
  const std::int64_t step = dtype_block_elements(table.type);
  for (std::int64_t i = 0; i < table.cols; i += step, from += dtype_block_bytes(table.type)) {
    switch (table.type) {
      case DType::kF32: to[i] = float_at(from); break;
      case DType::kF16: to[i] = half_at(from); break;
      case DType::kBF16: to[i] = bf16_at(from); break;
      case DType::kQ4_0: nibbles(from + 2, half_at(from), 8, 0.0F, to + i); break;
      case DType::kQ4_1: nibbles(from + 4, half_at(from), 0, half_at(from + 2), to + i); break;
      case DType::kQ8_0: bytes(from + 2, half_at(from), to + i); break;
    }
  }
}

}  // namespace kantha::ops::cpu
