#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/rng.h"
#include "engine/ops/tensor.h"

/// Seeded weights of every type, and what they mean, worked out without the code under test.
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
