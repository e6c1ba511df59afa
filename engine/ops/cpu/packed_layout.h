#pragma once

#include <cstdint>

/// How quantised weights lie in a packed matrix. Plain constants, like kernel_table.h: kernels for
/// instruction sets that this machine may lack are built from them.
///
/// A group of 16 rows is a row of units of 1 … 8 blocks of 32 columns. A unit holds, for each of
/// its blocks, the codes of 16 · 32 weights in planes of bits, and scales of 16 rows side by side.
/// What is constant for a whole unit stands in front.
///
/// Planes: let word j (0 … 7) of a row be its columns 4j … 4j + 3, a byte each. A vector of 64
/// bytes has one dword per row. In a plane of
///   8 bits  vector j is word j;
///   4 bits  vector j (0 … 3) is word j in the low and word j + 4 in the high nibbles;
///   2 bits  vector i (0, 1) has word 4i + p in bits 2p, 2p + 1 of each byte;
///   1 bit   the only vector has word j in bit j of each byte.
/// Codes of 3, 5 and 6 bits lie in two planes, the lower bits first.
namespace kantha::ops::cpu {

enum class ScaleKind : std::uint8_t {
  kHalf,            ///< per block: f16 d [16]; x = d·q
  kHalfMinimum,     ///< per block: f16 d [16], f16 m [16]; x = d·q + m
  kPower,           ///< per block: u8 e [16]; x = 2^(e − 128)·q
  kSuper32,         ///< per unit: f16 d [16]; per block: i8 s [16]; x = d·s·q
  kSuper32Minimum,  ///< per unit: f16 d, m [2, 16]; per block: u8 s [16], u8 n [16]; x = d·s·q −
                    ///< m·n
  kSuper16,        ///< per unit: f16 d [16]; per half block: i8 s [16]; x = d·s·q
  kSuper16Minimum  ///< per unit: f16 d, m [2, 16]; per half block: u8 s + 16·n [16]
};

/// Where the fields of one type lie, in bytes from the start of a unit.
struct PackedLayout {
  ScaleKind scale_kind = ScaleKind::kHalf;
  std::int32_t low_bits = 0;   ///< of the first plane: 2, 4 or 8
  std::int32_t high_bits = 0;  ///< of the second: 0, 1 or 2
  /// q = code − zero: a power of two, or 0. For types with a table: q = table[code].
  std::int32_t zero = 0;
  const std::int8_t* table = nullptr;
  std::int32_t unit_blocks = 1;
  std::int32_t unit_bytes = 0;
  std::int32_t codes_at = 0;      ///< of the first block; its second plane follows the first
  std::int32_t codes_stride = 0;  ///< from a block to the next
  std::int32_t scales_at = 0;
  std::int32_t scales_stride = 0;
  std::int32_t minimums_at = 0;  ///< of the first block, where a block has its own; same stride

  /// Two scales a block, each for 16 columns.
  bool halves = false;
  bool has_minimum = false;
};

}  // namespace kantha::ops::cpu
