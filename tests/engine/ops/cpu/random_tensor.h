#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "engine/ops/ref/dequantize.h"
#include "engine/ops/tensor.h"

/// Seeded weights of every type, and what they mean, worked out without the code under test: by
/// hand for the simple types, for the others by the reference, which other tests hold to the truth.
namespace kantha::ops::cpu {

/// Uniform in [−1, 1).
inline double random_signed(std::uint64_t seed, std::uint64_t index) {
  return random_unit(seed, index) * 2 - 1;
}

inline std::vector<float> random_floats(std::size_t count, std::uint64_t seed, double scale = 1) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(random_signed(seed, i) * scale);
  }
  return values;
}

/// Where a block of a type keeps an f16 scale, and the largest number that it is multiplied with.
struct ScalePlace {
  std::size_t at;
  double levels;
};

inline std::vector<ScalePlace> scale_places(DType type) {
  switch (type) {
    case DType::kQ4_0: return {{0, 8}};
    case DType::kQ4_1: return {{0, 15}, {2, 2}};
    case DType::kQ8_0: return {{0, 128}};
    case DType::kQ5_0: return {{0, 16}};
    case DType::kQ5_1: return {{0, 31}, {2, 2}};
    case DType::kQ2_K: return {{80, 45}, {82, 30}};
    case DType::kQ3_K: return {{108, 128}};
    case DType::kQ4_K: return {{0, 945}, {2, 126}};
    case DType::kQ5_K: return {{0, 1953}, {2, 126}};
    case DType::kQ6_K: return {{208, 4096}};
    case DType::kIQ4_NL: return {{0, 127}};
    case DType::kIQ4_XS: return {{0, 4064}};
    default: return {};
  }
}

/// A matrix that owns its bytes, at an odd address, and its exact values.
class RandomTensor {
 public:
  /// Values are of about the size of `scale`.
  RandomTensor(DType type, std::int64_t rows, std::int64_t cols, std::uint64_t seed, double scale)
      : rows_(rows), cols_(cols), type_(type), seed_(seed), scale_(scale) {
    bytes_.push_back(std::byte{0});
    for (std::int64_t b = 0; b < rows * cols / dtype_block_elements(type); ++b) append_block();
  }

  TensorView view() const { return {type_, rows_, cols_, std::span(bytes_).subspan(1)}; }
  double at(std::int64_t row, std::int64_t col) const {
    return values_[static_cast<std::size_t>(row * cols_ + col)];
  }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }

 private:
  template <class T>
  void append(T value) {
    std::byte raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes_.insert(bytes_.end(), raw, raw + sizeof(T));
  }
  double draw() { return random_signed(seed_, drawn_++); }

  void append_block() {
    switch (type_) {
      case DType::kF32: append_value(static_cast<float>(draw() * scale_)); break;
      case DType::kF16: append_value(static_cast<_Float16>(draw() * scale_)); break;
      case DType::kBF16: append_bf16(); break;
      case DType::kQ4_0: append_nibbles(scale_ / 8, 0); break;
      case DType::kQ4_1: append_nibbles(scale_ / 8, scale_); break;
      case DType::kQ8_0: append_bytes(); break;
      default: append_random_block();
    }
  }

  template <class T>
  void append_value(T value) {
    append(value);
    values_.push_back(static_cast<double>(value));
  }

  void append_bf16() {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(draw() * scale_)) >> 16;
    append(static_cast<std::uint16_t>(bits));
    values_.push_back(std::bit_cast<float>(bits << 16));
  }

  void append_nibbles(double d_scale, double minimum) {
    const auto d = static_cast<_Float16>((draw() * 0.5 + 0.75) * d_scale);
    const auto m = static_cast<_Float16>(-minimum * (draw() * 0.25 + 1));
    append(d);
    if (type_ == DType::kQ4_1) append(m);
    const std::size_t first = values_.size();
    values_.resize(first + 32);
    for (std::size_t i = 0; i < 16; ++i) {
      const auto byte = static_cast<std::uint8_t>(random_bits(seed_, drawn_++));
      append(byte);
      const int zero = type_ == DType::kQ4_0 ? 8 : 0;
      const double offset = type_ == DType::kQ4_0 ? 0 : static_cast<double>(m);
      values_[first + i] = static_cast<double>(d) * ((byte & 15) - zero) + offset;
      values_[first + i + 16] = static_cast<double>(d) * ((byte >> 4) - zero) + offset;
    }
  }

  void append_bytes() {
    const auto d = static_cast<_Float16>((draw() * 0.5 + 0.75) * scale_ / 128);
    append(d);
    for (int i = 0; i < 32; ++i) {
      const auto q = static_cast<std::int8_t>(random_bits(seed_, drawn_++));
      append(q);
      values_.push_back(static_cast<double>(d) * q);
    }
  }

  /// Random bytes with scales of the wanted size.
  void append_random_block() {
    std::vector<std::byte> block(static_cast<std::size_t>(dtype_block_bytes(type_)));
    for (std::byte& byte : block) byte = static_cast<std::byte>(random_bits(seed_, drawn_++));
    for (const ScalePlace& place : scale_places(type_)) {
      const auto d = static_cast<_Float16>((draw() * 0.5 + 0.75) * scale_ / place.levels);
      std::memcpy(block.data() + place.at, &d, 2);
    }
    if (type_ == DType::kMXFP4) {
      const double exponent = 128 + std::log2(scale_ / 12) + draw();
      block[0] = static_cast<std::byte>(exponent);
    }
    bytes_.insert(bytes_.end(), block.begin(), block.end());
    std::vector<float> values(static_cast<std::size_t>(dtype_block_elements(type_)));
    ref::dequantize_row({type_, 1, std::ssize(values), block}, 0, values);
    values_.insert(values_.end(), values.begin(), values.end());
  }

  std::int64_t rows_;
  std::int64_t cols_;
  DType type_;
  std::uint64_t seed_;
  double scale_;
  std::uint64_t drawn_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<double> values_;
};

}  // namespace kantha::ops::cpu
