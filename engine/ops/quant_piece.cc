#include "engine/ops/quant_piece.h"

#include <cstring>

#include "base/check.h"
#include "engine/ops/code_values.h"

namespace kantha::ops {
namespace {

constexpr std::size_t kColumns = kPieceColumns;

const std::uint8_t* bytes_at(const std::byte* block, std::size_t offset) {
  return reinterpret_cast<const std::uint8_t*>(block + offset);
}

std::uint16_t u16_at(const std::byte* block, std::size_t offset) {
  std::uint16_t value;
  std::memcpy(&value, block + offset, sizeof value);
  return value;
}

/// Sixteen bytes that hold two columns each, 16 apart.
void read_nibbles(const std::uint8_t* from, QuantPiece& to) {
  for (std::size_t i = 0; i < kColumns / 2; ++i) {
    to.codes[i] = from[i] & 15;
    to.codes[i + kColumns / 2] = from[i] >> 4;
  }
}

/// Bits [shift, shift + 2) or so of 32 bytes.
void read_field(const std::uint8_t* from, int shift, std::uint8_t mask, QuantPiece& to) {
  for (std::size_t i = 0; i < kColumns; ++i) {
    to.codes[i] = static_cast<std::uint8_t>(from[i] >> shift) & mask;
  }
}

/// The same as the codes' upper bits.
void add_field(const std::uint8_t* from, int shift, std::uint8_t mask, int to_bit, QuantPiece& to) {
  for (std::size_t i = 0; i < kColumns; ++i) {
    to.codes[i] |= static_cast<std::uint8_t>(((from[i] >> shift) & mask) << to_bit);
  }
}

/// Bit i of a little-endian word as the fifth bit of column i.
void add_fifth_bits(const std::byte* word, QuantPiece& to) {
  std::uint32_t bits;
  std::memcpy(&bits, word, sizeof bits);
  for (std::size_t i = 0; i < kColumns; ++i) {
    to.codes[i] |= static_cast<std::uint8_t>(((bits >> i) & 1) << 4);
  }
}

void read_q8_0(const std::byte* block, QuantPiece& to) {
  const std::uint8_t* from = bytes_at(block, 2);
  for (std::size_t i = 0; i < kColumns; ++i) to.codes[i] = from[i] ^ 0x80;
}

void read_q2_k(const std::byte* block, std::size_t p, QuantPiece& to) {
  to.d = u16_at(block, 80);
  to.m = u16_at(block, 82);
  read_field(bytes_at(block, 16 + p / 4 * 32), static_cast<int>(p % 4 * 2), 3, to);
  for (std::size_t h = 0; h < 2; ++h) {
    const std::uint8_t both = *bytes_at(block, 2 * p + h);
    to.scales[h] = both & 15;
    to.minimums[h] = both >> 4;
  }
}

void read_q3_k(const std::byte* block, std::size_t p, QuantPiece& to) {
  to.d = u16_at(block, 108);
  read_field(bytes_at(block, 32 + p / 4 * 32), static_cast<int>(p % 4 * 2), 3, to);
  add_field(bytes_at(block, 0), static_cast<int>(p), 1, 2, to);
  const std::uint8_t* packed = bytes_at(block, 96);
  for (std::size_t h = 0; h < 2; ++h) {
    const std::size_t s = 2 * p + h;
    const int low = (packed[s % 8] >> (s / 8 * 4)) & 15;
    const int high = (packed[8 + s % 4] >> (s / 4 * 2)) & 3;
    to.scales[h] = static_cast<std::int16_t>(low + 16 * high - 32);
  }
}

/// Q4_K's and Q5_K's six-bit scales and minimums.
void read_scale_pair(const std::byte* block, std::size_t p, QuantPiece& to) {
  to.d = u16_at(block, 0);
  to.m = u16_at(block, 2);
  const std::uint8_t* packed = bytes_at(block, 4);
  int scale = packed[p] & 63;
  int minimum = packed[p + 4] & 63;
  if (p >= 4) {
    scale = (packed[p + 4] & 15) + 16 * (packed[p - 4] >> 6);
    minimum = (packed[p + 4] >> 4) + 16 * (packed[p] >> 6);
  }
  to.scales[0] = to.scales[1] = static_cast<std::int16_t>(scale);
  to.minimums[0] = to.minimums[1] = static_cast<std::int16_t>(minimum);
}

void read_q4_k(const std::byte* block, std::size_t p, QuantPiece& to) {
  read_scale_pair(block, p, to);
  read_field(bytes_at(block, 16 + p / 2 * 32), static_cast<int>(p % 2 * 4), 15, to);
}

void read_q5_k(const std::byte* block, std::size_t p, QuantPiece& to) {
  read_scale_pair(block, p, to);
  read_field(bytes_at(block, 48 + p / 2 * 32), static_cast<int>(p % 2 * 4), 15, to);
  add_field(bytes_at(block, 16), static_cast<int>(p), 1, 4, to);
}

void read_q6_k(const std::byte* block, std::size_t p, QuantPiece& to) {
  to.d = u16_at(block, 208);
  read_field(bytes_at(block, p / 4 * 64 + p % 2 * 32), static_cast<int>(p % 4 / 2 * 4), 15, to);
  add_field(bytes_at(block, 128 + p / 4 * 32), static_cast<int>(p % 4 * 2), 3, 4, to);
  for (std::size_t h = 0; h < 2; ++h) {
    to.scales[h] = static_cast<std::int8_t>(*bytes_at(block, 192 + 2 * p + h));
  }
}

void read_iq4_xs(const std::byte* block, std::size_t p, QuantPiece& to) {
  to.d = u16_at(block, 0);
  read_nibbles(bytes_at(block, 8 + p * 16), to);
  const int low = (*bytes_at(block, 4 + p / 2) >> (p % 2 * 4)) & 15;
  const int high = (u16_at(block, 2) >> (2 * p)) & 3;
  to.scales[0] = to.scales[1] = static_cast<std::int16_t>(low + 16 * high - 32);
}

/// A block of one piece: `head` bytes before the nibbles, the scale first.
void read_small(const std::byte* block, std::size_t head, QuantPiece& to) {
  to.d = u16_at(block, 0);
  read_nibbles(bytes_at(block, head), to);
}

void read_minimum(const std::byte* block, QuantPiece& to) {
  to.m = u16_at(block, 2);
  to.minimums[0] = to.minimums[1] = -1;
}

}  // namespace

QuantPiece read_piece(DType type, const std::byte* block, std::int64_t index) {
  QuantPiece to;
  const auto p = static_cast<std::size_t>(index);
  switch (type) {
    case DType::kQ4_0:
    case DType::kIQ4_NL: read_small(block, 2, to); return to;
    case DType::kQ4_1:
      read_small(block, 4, to);
      read_minimum(block, to);
      return to;
    case DType::kQ5_0:
      read_small(block, 6, to);
      add_fifth_bits(block + 2, to);
      return to;
    case DType::kQ5_1:
      read_small(block, 8, to);
      add_fifth_bits(block + 4, to);
      read_minimum(block, to);
      return to;
    case DType::kQ8_0:
      to.d = u16_at(block, 0);
      read_q8_0(block, to);
      return to;
    case DType::kMXFP4:
      to.d = *bytes_at(block, 0);
      read_nibbles(bytes_at(block, 1), to);
      return to;
    case DType::kQ2_K: read_q2_k(block, p, to); return to;
    case DType::kQ3_K: read_q3_k(block, p, to); return to;
    case DType::kQ4_K: read_q4_k(block, p, to); return to;
    case DType::kQ5_K: read_q5_k(block, p, to); return to;
    case DType::kQ6_K: read_q6_k(block, p, to); return to;
    case DType::kIQ4_XS: read_iq4_xs(block, p, to); return to;
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: break;
  }
  CHECK(false, "a quantised type");
}

int code_zero(DType type) {
  switch (type) {
    case DType::kQ4_0: return 8;
    case DType::kQ5_0: return 16;
    case DType::kQ8_0: return 128;
    case DType::kQ3_K: return 4;
    case DType::kQ6_K: return 32;
    default: return 0;
  }
}

const std::int8_t* code_values(DType type) {
  switch (type) {
    case DType::kIQ4_NL:
    case DType::kIQ4_XS: return kIq4Values;
    case DType::kMXFP4: return kE2m1Values;
    default: return nullptr;
  }
}

}  // namespace kantha::ops
