#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "engine/ops/quant_piece.h"
#include "tests/fake/gguf_writer.h"

/// Rounds floats to every type. Blocks are filled field by field as quant_piece.h draws them, with
/// simple scales: valid, not optimal.
namespace kantha::fake {
namespace {

using ops::DType;

constexpr std::size_t kSuper = 256;

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

float reach_of(std::span<const float> values) {
  float reach = 0;
  for (const float x : values) reach = std::max(reach, std::fabs(x));
  return reach;
}

/// A block under construction: bits are or-ed into zeros.
class Block {
 public:
  explicit Block(DType type) : bytes_(static_cast<std::size_t>(ops::dtype_block_bytes(type))) {}

  void put_f16(std::size_t at, float value) {
    const auto half = static_cast<_Float16>(value);
    std::memcpy(&bytes_[at], &half, sizeof half);
  }
  void add(std::size_t at, int bits, int shift = 0) {
    bytes_[at] |= static_cast<std::byte>(static_cast<unsigned>(bits) << shift);
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

/// Codes of a straight line low + scale · code.
int level(float x, float scale, float low, int levels) {
  const float steps = scale == 0 ? 0 : std::round((x - low) / scale);
  return static_cast<int>(std::clamp(steps, 0.0F, static_cast<float>(levels)));
}

/// The code whose value times `scale` is nearest.
int nearest(float x, float scale, const std::int8_t* values) {
  int best = 0;
  for (int code = 1; code < 16; ++code) {
    if (std::fabs(scale * values[code] - x) < std::fabs(scale * values[best] - x)) best = code;
  }
  return best;
}

void add_nibble(Block& block, std::size_t head, std::size_t i, int code) {
  block.add(head + i % 16, code & 15, i < 16 ? 0 : 4);
}

/// Q4_0, Q5_0: d·(q − zero).
Block centred(DType type, std::span<const float> x) {
  Block block(type);
  const int zero = ops::code_zero(type);
  const float scale = rounded_f16(reach_of(x) / static_cast<float>(zero - 1));
  block.put_f16(0, scale);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const int code = level(x[i], scale, static_cast<float>(-zero) * scale, 2 * zero - 1);
    add_nibble(block, type == DType::kQ5_0 ? 6 : 2, i, code);
    if (type == DType::kQ5_0) block.add(2 + i / 8, code >> 4, static_cast<int>(i % 8));
  }
  return block;
}

/// Q4_1, Q5_1: d·q + m.
Block from_minimum(DType type, std::span<const float> x) {
  Block block(type);
  const auto [low, high] = std::ranges::minmax(x);
  const int levels = type == DType::kQ5_1 ? 31 : 15;
  const float scale = rounded_f16((high - low) / static_cast<float>(levels));
  block.put_f16(0, scale);
  block.put_f16(2, low);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const int code = level(x[i], scale, rounded_f16(low), levels);
    add_nibble(block, type == DType::kQ5_1 ? 8 : 4, i, code);
    if (type == DType::kQ5_1) block.add(4 + i / 8, code >> 4, static_cast<int>(i % 8));
  }
  return block;
}

Block q8_0(std::span<const float> x) {
  Block block(DType::kQ8_0);
  const float scale = rounded_f16(reach_of(x) / 127);
  block.put_f16(0, scale);
  for (std::size_t i = 0; i < x.size(); ++i) {
    block.add(2 + i, (level(x[i], scale, -127 * scale, 254) - 127) & 255);
  }
  return block;
}

Block iq4_nl(std::span<const float> x) {
  Block block(DType::kIQ4_NL);
  const float scale = rounded_f16(reach_of(x) / 113);
  block.put_f16(0, scale);
  for (std::size_t i = 0; i < x.size(); ++i) {
    add_nibble(block, 2, i, nearest(x[i], scale, ops::code_values(DType::kIQ4_NL)));
  }
  return block;
}

Block mxfp4(std::span<const float> x) {
  Block block(DType::kMXFP4);
  const float reach = reach_of(x);
  const int power = reach > 0 ? static_cast<int>(std::ceil(std::log2(reach / 12))) : -100;
  block.add(0, std::clamp(power + 128, 2, 254));
  const float scale = std::ldexp(1.0F, power);
  for (std::size_t i = 0; i < x.size(); ++i) {
    add_nibble(block, 1, i, nearest(x[i], scale, ops::code_values(DType::kMXFP4)));
  }
  return block;
}

/// The scales of a superblock's parts, as whole multiples of one f16.
struct Multiples {
  float unit = 0;
  std::array<int, 16> steps = {};

  float at(std::size_t part) const { return unit * static_cast<float>(steps[part]); }
};

Multiples multiples_of(std::span<const float> wanted, int steps_max) {
  Multiples m;
  m.unit = rounded_f16(reach_of(wanted) / static_cast<float>(steps_max));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    m.steps[i] = m.unit == 0 ? 0 : static_cast<int>(std::ceil(wanted[i] / m.unit));
    m.steps[i] = std::min(m.steps[i], steps_max);
  }
  return m;
}

/// Scales and minimums (positive, to be subtracted) of parts of `size` columns.
struct Lines {
  Multiples scales, minimums;

  Lines(std::span<const float> x, std::size_t size, int levels, int steps_max) {
    std::vector<float> wanted, lows;
    for (std::size_t at = 0; at < kSuper; at += size) {
      const auto [low, high] = std::ranges::minmax(x.subspan(at, size));
      lows.push_back(std::max(0.0F, -low));
      wanted.push_back((std::max(high, 0.0F) + lows.back()) / static_cast<float>(levels));
    }
    scales = multiples_of(wanted, steps_max);
    minimums = multiples_of(lows, steps_max);
  }

  int code(float x, std::size_t part, int levels) const {
    return level(x, scales.at(part), -minimums.at(part), levels);
  }
};

Block q2_k(std::span<const float> x) {
  Block block(DType::kQ2_K);
  const Lines lines(x, 16, 3, 15);
  block.put_f16(80, lines.scales.unit);
  block.put_f16(82, lines.minimums.unit);
  for (std::size_t s = 0; s < 16; ++s) {
    block.add(s, lines.scales.steps[s] | lines.minimums.steps[s] << 4);
  }
  for (std::size_t c = 0; c < kSuper; ++c) {
    block.add(16 + c / 128 * 32 + c % 32, lines.code(x[c], c / 16, 3),
              static_cast<int>(c / 32 % 4 * 2));
  }
  return block;
}

/// Scales of 16 columns around zero.
Multiples centred_scales(std::span<const float> x, int reach_levels, int steps_max) {
  std::vector<float> wanted;
  for (std::size_t at = 0; at < kSuper; at += 16) {
    wanted.push_back(reach_of(x.subspan(at, 16)) / static_cast<float>(reach_levels));
  }
  return multiples_of(wanted, steps_max);
}

Block q3_k(std::span<const float> x) {
  Block block(DType::kQ3_K);
  const Multiples scales = centred_scales(x, 3, 31);
  block.put_f16(108, scales.unit);
  for (std::size_t s = 0; s < 16; ++s) {
    const int stored = scales.steps[s] + 32;
    block.add(96 + s % 8, stored & 15, static_cast<int>(s / 8 * 4));
    block.add(96 + 8 + s % 4, stored >> 4, static_cast<int>(s / 4 * 2));
  }
  for (std::size_t c = 0; c < kSuper; ++c) {
    const float scale = scales.at(c / 16);
    const int code = level(x[c], scale, -4 * scale, 7);
    block.add(32 + c / 128 * 32 + c % 32, code & 3, static_cast<int>(c / 32 % 4 * 2));
    block.add(c % 32, code >> 2, static_cast<int>(c / 32));
  }
  return block;
}

/// Q4_K, Q5_K.
Block lined(DType type, std::span<const float> x) {
  Block block(type);
  const bool five = type == DType::kQ5_K;
  const int levels = five ? 31 : 15;
  const Lines lines(x, 32, levels, 63);
  block.put_f16(0, lines.scales.unit);
  block.put_f16(2, lines.minimums.unit);
  for (std::size_t p = 0; p < 8; ++p) {
    const int scale = lines.scales.steps[p];
    const int minimum = lines.minimums.steps[p];
    if (p < 4) {
      block.add(4 + p, scale);
      block.add(4 + p + 4, minimum);
    } else {
      block.add(4 + p + 4, (scale & 15) | (minimum & 15) << 4);
      block.add(4 + p - 4, scale >> 4, 6);
      block.add(4 + p, minimum >> 4, 6);
    }
  }
  for (std::size_t c = 0; c < kSuper; ++c) {
    const int code = lines.code(x[c], c / 32, levels);
    block.add((five ? 48 : 16) + c / 64 * 32 + c % 32, code & 15, static_cast<int>(c / 32 % 2 * 4));
    if (five) block.add(16 + c % 32, code >> 4, static_cast<int>(c / 32));
  }
  return block;
}

Block q6_k(std::span<const float> x) {
  Block block(DType::kQ6_K);
  const Multiples scales = centred_scales(x, 31, 127);
  block.put_f16(208, scales.unit);
  for (std::size_t s = 0; s < 16; ++s) block.add(192 + s, scales.steps[s]);
  for (std::size_t c = 0; c < kSuper; ++c) {
    const float scale = scales.at(c / 16);
    const int code = level(x[c], scale, -32 * scale, 63);
    block.add(c / 128 * 64 + c % 64, code & 15, static_cast<int>(c / 64 % 2 * 4));
    block.add(128 + c / 128 * 32 + c % 32, code >> 4, static_cast<int>(c / 32 % 4 * 2));
  }
  return block;
}

Block iq4_xs(std::span<const float> x) {
  Block block(DType::kIQ4_XS);
  std::vector<float> wanted;
  for (std::size_t at = 0; at < kSuper; at += 32) {
    wanted.push_back(reach_of(x.subspan(at, 32)) / 113);
  }
  const Multiples scales = multiples_of(wanted, 31);
  block.put_f16(0, scales.unit);
  for (std::size_t p = 0; p < 8; ++p) {
    const int stored = scales.steps[p] + 32;
    block.add(4 + p / 2, stored & 15, static_cast<int>(p % 2 * 4));
    block.add(2 + p / 4, stored >> 4, static_cast<int>(p % 4 * 2));
  }
  for (std::size_t c = 0; c < kSuper; ++c) {
    const int code = nearest(x[c], scales.at(c / 32), ops::code_values(DType::kIQ4_XS));
    add_nibble(block, 8 + c / 32 * 16, c % 32, code);
  }
  return block;
}

Block block_of(DType type, std::span<const float> x) {
  switch (type) {
    case DType::kQ4_0:
    case DType::kQ5_0: return centred(type, x);
    case DType::kQ4_1:
    case DType::kQ5_1: return from_minimum(type, x);
    case DType::kQ8_0: return q8_0(x);
    case DType::kQ2_K: return q2_k(x);
    case DType::kQ3_K: return q3_k(x);
    case DType::kQ4_K:
    case DType::kQ5_K: return lined(type, x);
    case DType::kQ6_K: return q6_k(x);
    case DType::kIQ4_NL: return iq4_nl(x);
    case DType::kIQ4_XS: return iq4_xs(x);
    case DType::kMXFP4: return mxfp4(x);
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: break;
  }
  CHECK(false, "a quantised type");
}

}  // namespace

Bytes quantize_row(DType type, std::span<const float> values) {
  Bytes bytes;
  const auto size = static_cast<std::size_t>(ops::dtype_block_elements(type));
  if (size == 1) {
    for (const float x : values) {
      if (type == DType::kF32) append(bytes, x);
      if (type == DType::kF16) append_f16(bytes, x);
      if (type == DType::kBF16) append_bf16(bytes, x);
    }
    return bytes;
  }
  CHECK(values.size() % size == 0, "whole blocks");
  for (std::size_t at = 0; at < values.size(); at += size) {
    const Block block = block_of(type, values.subspan(at, size));
    bytes.insert(bytes.end(), block.bytes().begin(), block.bytes().end());
  }
  return bytes;
}

}  // namespace kantha::fake
