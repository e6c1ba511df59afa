#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// Weights as they lie in a model file: typed bytes with a shape; borrowed, never owned.
namespace kantha::ops {

/// Element types that we read: plain floats, and ggml's blocks along a row, whose fields and
/// formulas stand in quant_piece.h.
enum class DType : std::uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ4_0,
  kQ4_1,
  kQ8_0,
  kQ5_0,
  kQ5_1,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4
};
inline constexpr std::size_t kDTypeCount = 16;

/// "F32", "Q4_1", "Q4_K", …
std::string_view dtype_name(DType type);
/// Elements per block: 1, 32 or 256.
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
