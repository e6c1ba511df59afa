#include "engine/ops/ref/dequantize.h"

#include <bit>
#include <cstring>

#include "base/check.h"
#include "engine/ops/quant_piece.h"

namespace kantha::ops::ref {
namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

float load_f16(const std::byte* at) { return f16_to_f32(load<std::uint16_t>(at)); }

/// 2^(exponent − 128), down to subnormals; the bits of the exponent byte 0 are 2^-128.
float half_of_power(std::uint16_t exponent) {
  const std::uint32_t bits =
      exponent < 2 ? 0x00200000U << exponent : (std::uint32_t{exponent} - 1) << 23;
  return std::bit_cast<float>(bits);
}

float scale_of(DType type, const QuantPiece& piece) {
  return type == DType::kMXFP4 ? half_of_power(piece.d) : f16_to_f32(piece.d);
}

void dequantize_piece(DType type, const QuantPiece& piece, float* out) {
  constexpr std::size_t kHalf = kPieceColumns / 2;
  const std::int8_t* values = code_values(type);
  const int zero = code_zero(type);
  const float d = scale_of(type, piece);
  const float m = f16_to_f32(piece.m);
  for (std::size_t h = 0; h < 2; ++h) {
    const float scale = d * static_cast<float>(piece.scales[h]);
    const float minimum = m * static_cast<float>(piece.minimums[h]);
    for (std::size_t i = h * kHalf; i < (h + 1) * kHalf; ++i) {
      const int value = values != nullptr ? values[piece.codes[i]] : piece.codes[i] - zero;
      out[i] = scale * static_cast<float>(value) - minimum;
    }
  }
}

void dequantize_blocks(const TensorView& weights, const std::byte* block, float* out) {
  const std::int64_t pieces = dtype_block_elements(weights.type) / kPieceColumns;
  for (std::int64_t at = 0; at < weights.cols; block += dtype_block_bytes(weights.type)) {
    for (std::int64_t p = 0; p < pieces; ++p, at += kPieceColumns) {
      dequantize_piece(weights.type, read_piece(weights.type, block, p), out + at);
    }
  }
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
    default: dequantize_blocks(weights, from, out.data());
  }
}

}  // namespace kantha::ops::ref
