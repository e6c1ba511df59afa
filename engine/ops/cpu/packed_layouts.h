#pragma once

#include "engine/ops/code_values.h"
#include "engine/ops/cpu/packed_layout.h"

/// The packed layout of every quantised type; bytes per weight beside the file's.
namespace kantha::ops::cpu::layouts {

/// 0.5625 (file 0.5625)
inline constexpr PackedLayout kQ4_0{.scale_kind = ScaleKind::kHalf,
                                    .low_bits = 4,
                                    .zero = 8,
                                    .unit_blocks = 2,
                                    .unit_bytes = 576,
                                    .codes_stride = 256,
                                    .scales_at = 512,
                                    .scales_stride = 32};
/// 0.625 (0.625)
inline constexpr PackedLayout kQ4_1{.scale_kind = ScaleKind::kHalfMinimum,
                                    .low_bits = 4,
                                    .unit_bytes = 320,
                                    .scales_at = 256,
                                    .minimums_at = 288,
                                    .has_minimum = true};
/// 0.6875 (0.6875)
inline constexpr PackedLayout kQ5_0{.scale_kind = ScaleKind::kHalf,
                                    .low_bits = 4,
                                    .high_bits = 1,
                                    .zero = 16,
                                    .unit_blocks = 2,
                                    .unit_bytes = 704,
                                    .codes_stride = 320,
                                    .scales_at = 640,
                                    .scales_stride = 32};
/// 0.75 (0.75)
inline constexpr PackedLayout kQ5_1{.scale_kind = ScaleKind::kHalfMinimum,
                                    .low_bits = 4,
                                    .high_bits = 1,
                                    .unit_bytes = 384,
                                    .scales_at = 320,
                                    .minimums_at = 352,
                                    .has_minimum = true};
/// 1.0625 (1.0625)
inline constexpr PackedLayout kQ8_0{.scale_kind = ScaleKind::kHalf,
                                    .low_bits = 8,
                                    .zero = 128,
                                    .unit_blocks = 2,
                                    .unit_bytes = 1088,
                                    .codes_stride = 512,
                                    .scales_at = 1024,
                                    .scales_stride = 32};
/// 0.328125 (0.328125)
inline constexpr PackedLayout kQ2_K{.scale_kind = ScaleKind::kSuper16Minimum,
                                    .low_bits = 2,
                                    .unit_blocks = 8,
                                    .unit_bytes = 1344,
                                    .codes_at = 320,
                                    .codes_stride = 128,
                                    .scales_at = 64,
                                    .scales_stride = 32,
                                    .halves = true,
                                    .has_minimum = true};
/// 0.453125 (0.4296875); the six-bit scales are bytes here and below
inline constexpr PackedLayout kQ3_K{.scale_kind = ScaleKind::kSuper16,
                                    .low_bits = 2,
                                    .high_bits = 1,
                                    .zero = 4,
                                    .unit_blocks = 8,
                                    .unit_bytes = 1856,
                                    .codes_at = 320,
                                    .codes_stride = 192,
                                    .scales_at = 64,
                                    .scales_stride = 32,
                                    .halves = true};
/// 0.578125 (0.5625)
inline constexpr PackedLayout kQ4_K{.scale_kind = ScaleKind::kSuper32Minimum,
                                    .low_bits = 4,
                                    .unit_blocks = 8,
                                    .unit_bytes = 2368,
                                    .codes_at = 320,
                                    .codes_stride = 256,
                                    .scales_at = 64,
                                    .scales_stride = 16,
                                    .minimums_at = 192,
                                    .has_minimum = true};
/// 0.703125 (0.6875)
inline constexpr PackedLayout kQ5_K{.scale_kind = ScaleKind::kSuper32Minimum,
                                    .low_bits = 4,
                                    .high_bits = 1,
                                    .unit_blocks = 8,
                                    .unit_bytes = 2880,
                                    .codes_at = 320,
                                    .codes_stride = 320,
                                    .scales_at = 64,
                                    .scales_stride = 16,
                                    .minimums_at = 192,
                                    .has_minimum = true};
/// 0.828125 (0.8203125)
inline constexpr PackedLayout kQ6_K{.scale_kind = ScaleKind::kSuper16,
                                    .low_bits = 4,
                                    .high_bits = 2,
                                    .zero = 32,
                                    .unit_blocks = 8,
                                    .unit_bytes = 3392,
                                    .codes_at = 320,
                                    .codes_stride = 384,
                                    .scales_at = 64,
                                    .scales_stride = 32,
                                    .halves = true};
/// 0.5625 (0.5625)
inline constexpr PackedLayout kIQ4_NL{.scale_kind = ScaleKind::kHalf,
                                      .low_bits = 4,
                                      .table = kIq4Values,
                                      .unit_blocks = 2,
                                      .unit_bytes = 576,
                                      .codes_stride = 256,
                                      .scales_at = 512,
                                      .scales_stride = 32};
/// 0.546875 (0.53125)
inline constexpr PackedLayout kIQ4_XS{.scale_kind = ScaleKind::kSuper32,
                                      .low_bits = 4,
                                      .table = kIq4Values,
                                      .unit_blocks = 8,
                                      .unit_bytes = 2240,
                                      .codes_at = 192,
                                      .codes_stride = 256,
                                      .scales_at = 64,
                                      .scales_stride = 16};
/// 0.53125 (0.53125)
inline constexpr PackedLayout kMXFP4{.scale_kind = ScaleKind::kPower,
                                     .low_bits = 4,
                                     .table = kE2m1Values,
                                     .unit_blocks = 4,
                                     .unit_bytes = 1088,
                                     .codes_stride = 256,
                                     .scales_at = 1024,
                                     .scales_stride = 16};

}  // namespace kantha::ops::cpu::layouts
