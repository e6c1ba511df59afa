#include "engine/ops/ref/dequantize.h"

#include <bit>
#include <cstring>

#include "base/check.h"

namespace kantha::ops::ref {
namespace {

constexpr std::size_t kBlock = 32;
constexpr std::size_t kHalf = kBlock / 2;

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

float load_f16(const std::byte* at) { return f16_to_f32(load<std::uint16_t>(at)); }

void q4_0_block(const std::byte* block, float* out) {
  const float scale = load_f16(block);
  const std::byte* nibbles = block + 2;
  for (std::size_t i = 0; i < kHalf; ++i) {
    const int pair = std::to_integer<int>(nibbles[i]);
    out[i] = scale * static_cast<float>((pair & 15) - 8);
    out[i + kHalf] = scale * static_cast<float>((pair >> 4) - 8);
  }
}

void q4_1_block(const std::byte* block, float* out) {
  const float scale = load_f16(block);
  const float low = load_f16(block + 2);
  const std::byte* nibbles = block + 4;
  for (std::size_t i = 0; i < kHalf; ++i) {
    const int pair = std::to_integer<int>(nibbles[i]);
    out[i] = scale * static_cast<float>(pair & 15) + low;
    out[i + kHalf] = scale * static_cast<float>(pair >> 4) + low;
  }
}

void q8_0_block(const std::byte* block, float* out) {
  const float scale = load_f16(block);
  for (std::size_t i = 0; i < kBlock; ++i) {
    out[i] = scale * static_cast<float>(load<std::int8_t>(block + 2 + i));
  }
}

template <class BlockFunction>
void each_block(const TensorView& weights, const std::byte* row, BlockFunction function,
                float* out) {
  const auto block_bytes = static_cast<std::size_t>(dtype_block_bytes(weights.type));
  const auto blocks = static_cast<std::size_t>(weights.cols) / kBlock;
  for (std::size_t b = 0; b < blocks; ++b) function(row + b * block_bytes, out + b * kBlock);
}

}  // namespace

float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1f;
  const std::uint32_t fraction = bits & 0x3ff;
  if (exponent == 0) {  // zero and subnormals: fraction · 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1.0p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

void dequantize_row(const TensorView& weights, std::int64_t row, std::span<float> out) {
  CHECK(row >= 0 && row < weights.rows, "row within the matrix");
  CHECK(std::ssize(out) == weights.cols, "out [cols]");
  const std::byte* from = weights.bytes.data() + row * weights.row_bytes();
  switch (weights.type) {
    case DType::kF32: std::memcpy(out.data(), from, out.size_bytes()); return;
    case DType::kF16:
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = load_f16(from + 2 * i);
      return;
    case DType::kBF16:
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(from + 2 * i)} << 16);
      }
      return;
    case DType::kQ4_0: each_block(weights, from, q4_0_block, out.data()); return;
    case DType::kQ4_1: each_block(weights, from, q4_1_block, out.data()); return;
    case DType::kQ8_0: each_block(weights, from, q8_0_block, out.data()); return;
  }
}

}  // namespace kantha::ops::ref
