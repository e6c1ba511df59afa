#include <immintrin.h>

#include "engine/ops/cpu/kernel_table.h"
#include "engine/ops/cpu/packed_layouts.h"

/// Kernels for AVX-512 with VNNI. Only raw pointers and internal linkage here; see kernel_table.h.
namespace kantha::ops::cpu {
namespace {

#include "engine/ops/cpu/isa/vector.inc"

constexpr int kScoreSums = 12;
constexpr int kValueSums = 24;

KANTHA_INLINE f32x16 load_f16(const std::uint16_t* p) {
  return __builtin_bit_cast(
      f32x16, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
}

KANTHA_INLINE void store_f16(std::uint16_t* p, f32x16 v) {
  const __m256i halves =
      _mm512_cvtps_ph(__builtin_bit_cast(__m512, v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), halves);
}

#include "engine/ops/cpu/isa/attention.inc"
#include "engine/ops/cpu/isa/float_gemm.inc"
#include "engine/ops/cpu/isa/rows.inc"

KANTHA_INLINE __m512 load_halves(const std::byte* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

KANTHA_INLINE std::int32_t load_int(const std::byte* p) {
  std::int32_t v;
  __builtin_memcpy(&v, p, 4);
  return v;
}

KANTHA_INLINE float load_float(const std::byte* p) {
  float v;
  __builtin_memcpy(&v, p, 4);
  return v;
}

KANTHA_INLINE __m512i load_vector(const std::byte* p) { return _mm512_loadu_si512(p); }

/// Bits of each byte moved up by `bits`, or down where negative; the neighbour's bits come in.
KANTHA_INLINE __m512i shifted(__m512i v, int bits) {
  return bits >= 0 ? _mm512_slli_epi16(v, static_cast<unsigned>(bits))
                   : _mm512_srli_epi16(v, static_cast<unsigned>(-bits));
}

/// The first plane of a block's codes: eight vectors of unsigned bytes (dword lane = row, vector
/// j = columns 4j … 4j + 3).
template <const PackedLayout& kLayout>
KANTHA_INLINE void load_low_bits(const std::byte* plane, __m512i (&w)[8]) {
  if constexpr (kLayout.low_bits == 8) {
    for (int j = 0; j < 8; ++j) w[j] = load_vector(plane + j * 64);
  } else if constexpr (kLayout.low_bits == 4) {
    const __m512i mask = _mm512_set1_epi8(15);
    for (int j = 0; j < 4; ++j) {
      const __m512i v = load_vector(plane + j * 64);
      w[j] = _mm512_and_si512(v, mask);
      w[j + 4] = _mm512_and_si512(_mm512_srli_epi16(v, 4), mask);
    }
  } else {
    const __m512i mask = _mm512_set1_epi8(3);
    for (int j = 0; j < 8; ++j) {
      w[j] = _mm512_and_si512(shifted(load_vector(plane + j / 4 * 64), j % 4 * -2), mask);
    }
  }
}

/// The second plane's bits above those of the first.
template <const PackedLayout& kLayout>
KANTHA_INLINE void add_high_bits(const std::byte* plane, __m512i (&w)[8]) {
  constexpr int kWordsAVector = 8 / kLayout.high_bits;
  const __m512i mask = _mm512_set1_epi8(((1 << kLayout.high_bits) - 1) << kLayout.low_bits);
  for (int j = 0; j < 8; ++j) {
    const __m512i v = load_vector(plane + j / kWordsAVector * 64);
    const int up = kLayout.low_bits - j % kWordsAVector * kLayout.high_bits;
    w[j] = _mm512_or_si512(w[j], _mm512_and_si512(shifted(v, up), mask));
  }
}

/// A block's codes; of types with a table, its values + 128.
template <const PackedLayout& kLayout>
KANTHA_INLINE void load_codes(const std::byte* p, __m512i (&w)[8]) {
  load_low_bits<kLayout>(p, w);
  if constexpr (kLayout.high_bits > 0) add_high_bits<kLayout>(p + kLayout.low_bits * 64, w);
  if constexpr (kLayout.table != nullptr) {
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kLayout.table));
    const __m512i biased = _mm512_broadcast_i32x4(_mm_xor_si128(values, _mm_set1_epi8(-128)));
    for (int j = 0; j < 8; ++j) w[j] = _mm512_shuffle_epi8(biased, w[j]);
  }
}

/// 16 rows' scales of a block, or of its two halves; minimums are added to the product with Σq.
struct BlockScales {
  __m512 d[2];
  __m512 m[2];
};

KANTHA_INLINE __m128i load_16_bytes(const std::byte* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

KANTHA_INLINE __m512 unsigned_floats(const std::byte* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(load_16_bytes(p)));
}

KANTHA_INLINE __m512 signed_floats(const std::byte* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load_16_bytes(p)));
}

/// 2^(e − 128) of 16 exponent bytes.
KANTHA_INLINE __m512 powers(const std::byte* p) {
  const __m512i e = _mm512_cvtepu8_epi32(load_16_bytes(p));
  const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
  const __m512i small = _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), e);
  const __mmask16 is_small = _mm512_cmplt_epi32_mask(e, _mm512_set1_epi32(2));
  return _mm512_castsi512_ps(_mm512_mask_mov_epi32(normal, is_small, small));
}

KANTHA_INLINE __m512 negative(__m512 v) { return _mm512_sub_ps(_mm512_setzero_ps(), v); }

/// `unit` is the block's unit, `scales` the block's scales in it. The products of scales are exact.
template <const PackedLayout& kLayout>
KANTHA_INLINE BlockScales load_scales(const std::byte* unit, const std::byte* scales) {
  BlockScales to = {};
  if constexpr (kLayout.scale_kind == ScaleKind::kHalf) {
    to.d[0] = load_halves(scales);
  } else if constexpr (kLayout.scale_kind == ScaleKind::kHalfMinimum) {
    to.d[0] = load_halves(scales);
    to.m[0] = load_halves(scales + kLayout.minimums_at - kLayout.scales_at);
  } else if constexpr (kLayout.scale_kind == ScaleKind::kPower) {
    to.d[0] = powers(scales);
  } else {
    const __m512 d = load_halves(unit);
    if constexpr (kLayout.scale_kind == ScaleKind::kSuper32) {
      to.d[0] = _mm512_mul_ps(d, signed_floats(scales));
    } else if constexpr (kLayout.scale_kind == ScaleKind::kSuper32Minimum) {
      const std::byte* minimums = scales + kLayout.minimums_at - kLayout.scales_at;
      to.d[0] = _mm512_mul_ps(d, unsigned_floats(scales));
      to.m[0] = negative(_mm512_mul_ps(load_halves(unit + 32), unsigned_floats(minimums)));
    } else if constexpr (kLayout.scale_kind == ScaleKind::kSuper16) {
      for (int h = 0; h < 2; ++h) to.d[h] = _mm512_mul_ps(d, signed_floats(scales + h * 16));
    } else {
      const __m512 m = load_halves(unit + 32);
      for (int h = 0; h < 2; ++h) {
        const __m512i both = _mm512_cvtepu8_epi32(load_16_bytes(scales + h * 16));
        const __m512i s = _mm512_and_si512(both, _mm512_set1_epi32(15));
        to.d[h] = _mm512_mul_ps(d, _mm512_cvtepi32_ps(s));
        to.m[h] = negative(_mm512_mul_ps(m, _mm512_cvtepi32_ps(_mm512_srli_epi32(both, 4))));
      }
    }
  }
  return to;
}

/// What a block's activations are: int8, 15 bits in two parts, or those with low parts of 0, which
/// are left out: the dot is 1/128 then, and the caller's scale 128 times.
enum class Parts { kInt8, kTwo, kHighOnly };

/// Tokens whose dots are computed side by side: as many chains of dependent additions, two for two
/// parts, as hide their latency and fit into the registers.
constexpr int beside(Parts parts, int tokens) {
  const int most = parts == Parts::kTwo ? 4 : 8;
  return tokens < most ? tokens : most;
}

/// sums [kCount] += Σ w·q over words kFirst … kLast − 1 of a block for so many tokens, token t's 32
/// bytes standing at q + t·32: exact. `low` [kCount] likewise of the low parts behind them.
template <int kFirst, int kLast, Parts kParts, int kCount>
KANTHA_INLINE void add_dots(const __m512i (&w)[8], const std::byte* q, __m512i (&sums)[kCount],
                            __m512i (&low)[kCount]) {
#pragma GCC unroll 8
  for (int j = kFirst; j < kLast; ++j) {
#pragma GCC unroll 8
    for (int t = 0; t < kCount; ++t) {
      const std::byte* word = q + t * kBlock + j * 4;
      // Few tokens' words go to both sums in turns.
      const bool is_second = kParts != Parts::kTwo && kCount <= 4 && j % 2 == 1;
      __m512i& sum = is_second ? low[t] : sums[t];
      sum = _mm512_dpbusd_epi32(sum, w[j], _mm512_set1_epi32(load_int(word)));
      if constexpr (kParts == Parts::kTwo) {
        const std::int32_t x = load_int(word + kPanelLow);
        low[t] = _mm512_dpbusd_epi32(low[t], w[j], _mm512_set1_epi32(x));
      }
    }
  }
}

/// dots [kCount] of tokens first … first + kCount − 1, from `offsets` (−128·Σq of each) on, scaled
/// to the type's zero.
template <const PackedLayout& kLayout, Parts kParts, int kFirst, int kLast, int kCount>
KANTHA_INLINE void dot_words(const __m512i (&w)[8], const std::byte* panel, int first,
                             const std::int32_t (&offsets)[kCount], __m512i (&dots)[kCount]) {
  constexpr std::int32_t kZero = kLayout.table != nullptr ? 128 : kLayout.zero;
  constexpr int kSmaller = kParts == Parts::kHighOnly ? 7 : 0;
  __m512i high[kCount];
  __m512i low[kCount];
#pragma GCC unroll 8
  for (int t = 0; t < kCount; ++t) {
    high[t] = low[t] = _mm512_setzero_si512();
    if constexpr (kZero != 0) {
      low[t] = _mm512_set1_epi32(offsets[t] >> (__builtin_ctz(128 / kZero) + kSmaller));
    }
  }
  add_dots<kFirst, kLast, kParts>(w, panel + first * kBlock, high, low);
  constexpr bool kBoth = kParts == Parts::kTwo || kCount <= 4 || kZero != 0;
#pragma GCC unroll 8
  for (int t = 0; t < kCount; ++t) {
    if constexpr (kParts == Parts::kTwo) high[t] = _mm512_slli_epi32(high[t], 7);
    dots[t] = kBoth ? _mm512_add_epi32(high[t], low[t]) : high[t];
  }
}

/// sum + m·dx·Σq + d·dx·dot, where `scaled_sum` is dx·Σq.
template <bool kHasMinimum>
KANTHA_INLINE __m512 add_block(__m512 sum, __m512i dot, __m512 d, __m512 m, float dx,
                               float scaled_sum) {
  if constexpr (kHasMinimum) sum = _mm512_fmadd_ps(m, _mm512_set1_ps(scaled_sum), sum);
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), _mm512_mul_ps(d, _mm512_set1_ps(dx)), sum);
}

/// One block of 16 rows for tokens first … first + kCount − 1 of the panel.
template <const PackedLayout& kLayout, Parts kParts, int kCount>
KANTHA_INLINE void add_tokens(const __m512i (&w)[8], const BlockScales& scales,
                              const std::byte* panel, int first, __m512* sums) {
  std::int32_t offsets[kCount];
  std::int32_t halves[kCount];
  __m512i dots[kCount];
#pragma GCC unroll 8
  for (int t = 0; t < kCount; ++t) {
    offsets[t] = load_int(panel + kPanelOffsets + (first + t) * 4);
    halves[t] = load_int(panel + kPanelHalfOffsets + (first + t) * 4);
  }
  const auto scale = [&](int half, int t, float scaled_sum) {
    const float dx = load_float(panel + kPanelScales + (first + t) * 4);
    sums[t] = add_block<kLayout.has_minimum>(sums[t], dots[t], scales.d[half], scales.m[half], dx,
                                             scaled_sum);
  };
  const auto scale_half = [&](int half, int t, std::int32_t offset) {
    const float dx = load_float(panel + kPanelScales + (first + t) * 4);
    scale(half, t, dx * static_cast<float>(-(offset >> 7)));
  };
  if constexpr (kLayout.halves) {
    dot_words<kLayout, kParts, 0, 4>(w, panel, first, halves, dots);
#pragma GCC unroll 8
    for (int t = 0; t < kCount; ++t) {
      scale_half(0, t, halves[t]);
      offsets[t] -= halves[t];
    }
    dot_words<kLayout, kParts, 4, 8>(w, panel, first, offsets, dots);
#pragma GCC unroll 8
    for (int t = 0; t < kCount; ++t) scale_half(1, t, offsets[t]);
  } else {
    dot_words<kLayout, kParts, 0, 8>(w, panel, first, offsets, dots);
#pragma GCC unroll 8
    for (int t = 0; t < kCount; ++t) {
      scale(0, t, load_float(panel + kPanelSums + (first + t) * 4));
    }
  }
}

/// The same for all tokens, a few at a time.
template <const PackedLayout& kLayout, Parts kParts, int kTokens>
KANTHA_INLINE void add_panel(const __m512i (&w)[8], const BlockScales& scales,
                             const std::byte* panel, __m512* sums) {
  constexpr int kCount = beside(kParts, kTokens);
  constexpr int kRest = kTokens - kCount;
  add_tokens<kLayout, kParts, kCount>(w, scales, panel, 0, sums);
  if constexpr (kRest > 0) {
    add_tokens<kLayout, kParts, kRest>(w, scales, panel, kCount, sums + kCount);
  }
}

/// Whether any of the first kTokens has low parts in the block.
template <int kTokens>
KANTHA_INLINE bool has_low(const std::byte* flags) {
  std::uint64_t bytes;
  __builtin_memcpy(&bytes, flags, 8);
  return (bytes << (64 - 8 * kTokens)) != 0;
}

template <const PackedLayout& kLayout, bool kFine, int kTokens>
void quantised_tile(const std::byte* group, std::int64_t cols, const std::byte* panel,
                    float* tile) {
  __m512 sums[kTokens];
  for (int t = 0; t < kTokens; ++t) sums[t] = _mm512_setzero_ps();
  const std::byte* flags = panel + cols / kBlock * kFinePanelBlockBytes;
  for (std::int64_t b = 0; b < cols / kBlock; ++b) {
    const std::byte* unit = group + b / kLayout.unit_blocks * kLayout.unit_bytes;
    const std::int64_t index = b % kLayout.unit_blocks;
    __m512i w[8];
    load_codes<kLayout>(unit + kLayout.codes_at + index * kLayout.codes_stride, w);
    BlockScales scales =
        load_scales<kLayout>(unit, unit + kLayout.scales_at + index * kLayout.scales_stride);
    if constexpr (!kFine) {
      add_panel<kLayout, Parts::kInt8, kTokens>(w, scales, panel, sums);
    } else if (has_low<kTokens>(flags + b * kPanelTokens)) {
      add_panel<kLayout, Parts::kTwo, kTokens>(w, scales, panel, sums);
    } else {
      for (__m512& d : scales.d) d = _mm512_mul_ps(d, _mm512_set1_ps(128));
      add_panel<kLayout, Parts::kHighOnly, kTokens>(w, scales, panel, sums);
    }
    panel += kFine ? kFinePanelBlockBytes : kPanelBlockBytes;
  }
  for (int t = 0; t < kTokens; ++t) _mm512_storeu_ps(tile + t * 16, sums[t]);
}

template <const PackedLayout& kLayout, bool kFine>
void quantised_gemm(const std::byte* group, std::int64_t cols, const PanelView& in,
                    std::int64_t tokens, float* tile) {
  switch (tokens) {
    case 1: return quantised_tile<kLayout, kFine, 1>(group, cols, in.q8, tile);
    case 2: return quantised_tile<kLayout, kFine, 2>(group, cols, in.q8, tile);
    case 3: return quantised_tile<kLayout, kFine, 3>(group, cols, in.q8, tile);
    case 4: return quantised_tile<kLayout, kFine, 4>(group, cols, in.q8, tile);
    case 5: return quantised_tile<kLayout, kFine, 5>(group, cols, in.q8, tile);
    case 6: return quantised_tile<kLayout, kFine, 6>(group, cols, in.q8, tile);
    case 7: return quantised_tile<kLayout, kFine, 7>(group, cols, in.q8, tile);
    default: return quantised_tile<kLayout, kFine, 8>(group, cols, in.q8, tile);
  }
}

#include "engine/ops/cpu/isa/gemm_table.inc"

constexpr KernelTable kTable = {
    .name = "avx512",
    .gemm = KANTHA_GEMM_TABLE(false),
    .gemm_fine = KANTHA_GEMM_TABLE(true),
    .rmsnorm_row = rmsnorm_row,
    .quantise_row = quantise_row,
    .quantise_row_fine = quantise_row_fine,
    .add_tile = add_tile,
    .store_tile = store_tile,
    .silu_mul_tile = silu_mul_tile,
    .gelu_mul_tile = gelu_mul_tile,
    .cap_row = cap_row,
    .rotate_16 = rotate_16,
    .to_f16_16 = to_f16_16,
    .attend_piece = attend_piece,
    .scale_row = scale_row,
};

}  // namespace

const KernelTable& avx512_kernels() { return kTable; }

}  // namespace kantha::ops::cpu
