#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// Weights as they lie in a model file: typed bytes with a shape; borrowed, never owned.
namespace kantha::ops {

/// Element types that we read. Q types are ggml's blocks of 32 along a row:
///   Q4_0 {f16 d; u8 qs[16]}           18 bytes, x = d·(q − 8)
///   Q4_1 {f16 d; f16 m; u8 qs[16]}    20 bytes, x = d·q + m
///   Q8_0 {f16 d; i8 qs[32]}           34 bytes, x = d·q
/// with element i < 16 in the low nibble of qs[i] and element i + 16 in its high nibble.
enum class DType : std::uint8_t { kF32, kF16, kBF16, kQ4_0, kQ4_1, kQ8_0 };

/// "F32", "Q4_1", …
std::string_view dtype_name(DType type);
/// Elements per block: 1 or 32.
std::int64_t dtype_block_elements(DType type);
/// Bytes per block.
std::int64_t dtype_block_bytes(DType type);

/// A matrix [rows, cols] in row-major order; cols is a multiple of the block size; a vector has
/// rows = 1. y = W x has `rows` outputs and `cols` inputs.
struct TensorView {
  DType type = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::span<const std::byte> bytes = {};

  bool empty() const { return bytes.empty(); }
  std::int64_t row_bytes() const {
    return cols / dtype_block_elements(type) * dtype_block_bytes(type);
  }
};

}  // namespace kantha::ops
