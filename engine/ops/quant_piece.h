#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/ops/tensor.h"

/// ggml's quantised blocks, taken apart into pieces of 32 columns: codes and scales as integers.
///
/// Offsets in bytes; f16 is IEEE binary16, little-endian; "bits a:b" is the run of b bits at a.
///
///   type    cols bytes  fields
///   Q4_0    32   18     f16 d @0, nibbles @2                        x = d·(q − 8)
///   Q4_1    32   20     f16 d @0, f16 m @2, nibbles @4              x = d·q + m
///   Q5_0    32   22     f16 d @0, u32 high @2, nibbles @6           x = d·(q − 16)
///   Q5_1    32   24     f16 d @0, f16 m @2, u32 high @4, nibbles @8 x = d·q + m
///   Q8_0    32   34     f16 d @0, i8 q[32] @2                       x = d·q
///   IQ4_NL  32   18     f16 d @0, nibbles @2                        x = d·kIq4Values[q]
///   MXFP4   32   17     u8 e @0, nibbles @1                         x = 2^(e−128)·kE2m1Values[q]
///   Q2_K    256  84     u8 sm[16] @0, pairs @16, f16 d @80, f16 m @82
///   Q3_K    256  110    bits high[32] @0, pairs @32, u8 s[12] @96, f16 d @108
///   Q4_K    256  144    f16 d @0, f16 m @2, u8 sm[12] @4, q[128] @16
///   Q5_K    256  176    f16 d @0, f16 m @2, u8 sm[12] @4, bits high[32] @16, q[128] @48
///   Q6_K    256  210    low[128] @0, high[64] @128, i8 s[16] @192, f16 d @208
///   IQ4_XS  256  136    f16 d @0, u16 sh @2, u8 sl[4] @4, nibbles[8] @8
///
/// In blocks of 32 columns, nibbles hold column i in the low half of byte i and column i + 16 in
/// its high half, and bit i of `high` is the fifth bit of column i. The formulas of the others, for
/// column c of 256, piece p = c / 32, sixteenth s = c / 16 (/ rounds down, % is the remainder):
///
///   Q2_K    q = pairs[c/128·32 + c%32] bits 2·(p%4):2; x = d·(sm[s] & 15)·q − m·(sm[s] >> 4)
///   Q3_K    q = the same two bits + 4·(bit p of high[c%32]); x = d·(S(s) − 32)·(q − 4); S has six
///           bits: s[s%8] bits 4·(s/8):4, then s[8 + s%4] bits 2·(s/4):2
///   Q4_K    q = nibble p%2 of q[p/2·32 + c%32]; x = d·S(p)·q − m·M(p); for p < 4 S = sm[p] & 63
///   and
///           M = sm[p + 4] & 63; else S = (sm[p + 4] & 15) + 16·(sm[p − 4] >> 6) and
///           M = (sm[p + 4] >> 4) + 16·(sm[p] >> 6)
///   Q5_K    as Q4_K, with bit p of high[c%32] as the fifth bit of q
///   Q6_K    q = nibble (p%4)/2 of low[c/128·64 + p%2·32 + c%32]
///               + 16·(bits 2·(p%4):2 of high[c/128·32 + c%32]); x = d·s[s]·(q − 32)
///   IQ4_XS  S = nibble p%2 of sl[p/2] + 16·(bits 2p:2 of sh); x = d·(S − 32)·kIq4Values[q],
///   nibbles
///           of piece p at 8 + 16p
///
/// Source: the GGUF and quantisation pages of ggml's documentation; checked against the Python
/// package gguf (tests/engine/ops/quant_blocks.py).
namespace kantha::ops {

inline constexpr std::int64_t kPieceColumns = 32;

/// Columns 32p … 32p + 31 of a block. Where h = i / 16, element i is
///   d · scales[h] · value(codes[i]) − m · minimums[h]
/// with d and m as floats; the products are taken in this order, each rounded to f32. Q4_1's and
/// Q5_1's m has its sign in the file turned: their minimums are −1.
struct QuantPiece {
  std::uint8_t codes[kPieceColumns] = {};
  std::uint16_t d = 0;  ///< f16 bits; MXFP4: the exponent byte
  std::uint16_t m = 0;  ///< f16 bits, 0 for types without minimums
  std::int16_t scales[2] = {1, 1};
  std::int16_t minimums[2] = {0, 0};
};

/// Reads piece `index` (< dtype_block_elements / 32) of the block at `block`, which needs no
/// alignment. `type` is quantised. Any thread.
QuantPiece read_piece(DType type, const std::byte* block, std::int64_t index);

/// For types on a straight line, value(code) = code − code_zero.
int code_zero(DType type);
/// value(code) = code_values(type)[code] for the others; null for types on a straight line.
const std::int8_t* code_values(DType type);

}  // namespace kantha::ops
