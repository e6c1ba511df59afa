#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "tests/fake/gguf_writer.h"

namespace kantha::fake {
namespace {

constexpr std::size_t kBlock = 32;

template <class T>
void append(Bytes& bytes, T value) {
  const std::size_t end = bytes.size();
  bytes.resize(end + sizeof(T));
  std::memcpy(bytes.data() + end, &value, sizeof(T));
}

void append_f16(Bytes& bytes, float value) { append(bytes, static_cast<_Float16>(value)); }

/// Nearest bf16, ties to even.
void append_bf16(Bytes& bytes, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  append(bytes, static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16));
}

float rounded_f16(float value) { return static_cast<float>(static_cast<_Float16>(value)); }

/// 16 bytes of nibbles: element i in the low half of byte i, element i + 16 in its high half.
void append_nibbles(Bytes& bytes, std::span<const float> block, float scale, float low) {
  const auto level = [&](float x) {
    const float steps = scale == 0 ? 0 : std::round((x - low) / scale);
    return static_cast<std::uint8_t>(std::clamp(steps, 0.0F, 15.0F));
  };
  for (std::size_t i = 0; i < kBlock / 2; ++i) {
    append(bytes, static_cast<std::uint8_t>(level(block[i]) | level(block[i + 16]) << 4));
  }
}

void append_block(Bytes& bytes, ops::DType type, std::span<const float> block) {
  const auto [low, high] = std::ranges::minmax(block);
  const float reach = std::max(std::fabs(low), std::fabs(high));
  if (type == ops::DType::kQ4_0) {
    const float scale = rounded_f16(reach / 7);
    append_f16(bytes, scale);
    append_nibbles(bytes, block, scale, -8 * scale);
  } else if (type == ops::DType::kQ4_1) {
    const float scale = rounded_f16((high - low) / 15);
    append_f16(bytes, scale);
    append_f16(bytes, low);
    append_nibbles(bytes, block, scale, rounded_f16(low));
  } else {
    const float scale = rounded_f16(reach / 127);
    append_f16(bytes, scale);
    for (const float x : block) {
      const float steps = scale == 0 ? 0 : std::round(x / scale);
      append(bytes, static_cast<std::int8_t>(std::clamp(steps, -127.0F, 127.0F)));
    }
  }
}

}  // namespace

Bytes quantize_row(ops::DType type, std::span<const float> values) {
  Bytes bytes;
  if (ops::dtype_block_elements(type) == 1) {
    for (const float x : values) {
      if (type == ops::DType::kF32) append(bytes, x);
      if (type == ops::DType::kF16) append_f16(bytes, x);
      if (type == ops::DType::kBF16) append_bf16(bytes, x);
    }
    return bytes;
  }
  CHECK(values.size() % kBlock == 0, "whole blocks");
  for (std::size_t at = 0; at < values.size(); at += kBlock) {
    append_block(bytes, type, values.subspan(at, kBlock));
  }
  return bytes;
}

}  // namespace kantha::fake
