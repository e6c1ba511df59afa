#include <immintrin.h>

#include "engine/ops/cpu/kernel_table.h"
#include "engine/ops/cpu/packed_layouts.h"

/// Kernels for AVX2, FMA and F16C over the same packed layouts as AVX-512, half a group at a time.
/// Only raw pointers and internal linkage here; see kernel_table.h.
namespace kantha::ops::cpu {
namespace {

#include "engine/ops/cpu/isa/vector.inc"

constexpr int kScoreSums = 4;
constexpr int kValueSums = 8;

KANTHA_INLINE __m256 load_halves(const void* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}

KANTHA_INLINE f32x16 load_f16(const std::uint16_t* p) {
  f32x16 v;
  v.lo = __builtin_bit_cast(f32x8, load_halves(p));
  v.hi = __builtin_bit_cast(f32x8, load_halves(p + 8));
  return v;
}

KANTHA_INLINE void store_f16(std::uint16_t* p, f32x16 v) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  const __m128i low = _mm256_cvtps_ph(__builtin_bit_cast(__m256, f32x8(v.lo)), kNearest);
  const __m128i high = _mm256_cvtps_ph(__builtin_bit_cast(__m256, f32x8(v.hi)), kNearest);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), low);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), high);
}

#include "engine/ops/cpu/isa/attention.inc"
#include "engine/ops/cpu/isa/float_gemm.inc"
#include "engine/ops/cpu/isa/rows.inc"

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

KANTHA_INLINE __m256i load_half_vector(const std::byte* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

/// Bits of each byte moved up by `bits`, or down where negative; the neighbour's bits come in.
KANTHA_INLINE __m256i shifted(__m256i v, int bits) {
  return bits >= 0 ? _mm256_slli_epi16(v, bits) : _mm256_srli_epi16(v, -bits);
}

/// The first plane of a block's codes, of 8 rows: eight half vectors of bytes (dword lane = row,
/// vector j = columns 4j … 4j + 3).
template <const PackedLayout& kLayout>
KANTHA_INLINE void load_low_bits(const std::byte* plane, __m256i (&w)[8]) {
  if constexpr (kLayout.low_bits == 8) {
    const __m256i flip = _mm256_set1_epi8(-128);
    for (int j = 0; j < 8; ++j) w[j] = _mm256_xor_si256(load_half_vector(plane + j * 64), flip);
  } else if constexpr (kLayout.low_bits == 4) {
    const __m256i mask = _mm256_set1_epi8(15);
    for (int j = 0; j < 4; ++j) {
      const __m256i v = load_half_vector(plane + j * 64);
      w[j] = _mm256_and_si256(v, mask);
      w[j + 4] = _mm256_and_si256(_mm256_srli_epi16(v, 4), mask);
    }
  } else {
    const __m256i mask = _mm256_set1_epi8(3);
    for (int j = 0; j < 8; ++j) {
      w[j] = _mm256_and_si256(shifted(load_half_vector(plane + j / 4 * 64), j % 4 * -2), mask);
    }
  }
}

/// The second plane's bits above those of the first.
template <const PackedLayout& kLayout>
KANTHA_INLINE void add_high_bits(const std::byte* plane, __m256i (&w)[8]) {
  constexpr int kWordsAVector = 8 / kLayout.high_bits;
  const __m256i mask = _mm256_set1_epi8(((1 << kLayout.high_bits) - 1) << kLayout.low_bits);
  for (int j = 0; j < 8; ++j) {
    const __m256i v = load_half_vector(plane + j / kWordsAVector * 64);
    const int up = kLayout.low_bits - j % kWordsAVector * kLayout.high_bits;
    w[j] = _mm256_or_si256(w[j], _mm256_and_si256(shifted(v, up), mask));
  }
}

/// Bytes and values of tables come signed, the codes of other types unsigned.
template <const PackedLayout& kLayout>
constexpr bool kSigned = kLayout.low_bits == 8 || kLayout.table != nullptr;

/// `half` of a block's codes: 8 rows.
template <const PackedLayout& kLayout>
KANTHA_INLINE void load_codes(const std::byte* p, __m256i (&w)[8]) {
  load_low_bits<kLayout>(p, w);
  if constexpr (kLayout.high_bits > 0) add_high_bits<kLayout>(p + kLayout.low_bits * 64, w);
  if constexpr (kLayout.table != nullptr) {
    const __m256i values = _mm256_broadcastsi128_si256(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(kLayout.table)));
    for (int j = 0; j < 8; ++j) w[j] = _mm256_shuffle_epi8(values, w[j]);
  }
}

/// 8 rows' scales of a block, or of its two halves; minimums are added to the product with Σq.
struct BlockScales {
  __m256 d[2];
  __m256 m[2];
};

KANTHA_INLINE __m128i load_8_bytes(const std::byte* p) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
}

KANTHA_INLINE __m256 unsigned_floats(const std::byte* p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(load_8_bytes(p)));
}

KANTHA_INLINE __m256 signed_floats(const std::byte* p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(load_8_bytes(p)));
}

/// 2^(e − 128) of 8 exponent bytes.
KANTHA_INLINE __m256 powers(const std::byte* p) {
  const __m256i e = _mm256_cvtepu8_epi32(load_8_bytes(p));
  const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
  const __m256i small = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
  const __m256i is_small = _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e);
  return _mm256_castsi256_ps(_mm256_blendv_epi8(normal, small, is_small));
}

KANTHA_INLINE __m256 negative(__m256 v) { return _mm256_sub_ps(_mm256_setzero_ps(), v); }

/// Rows 8·half … of a block's scales: `unit` is the block's unit, `scales` the block's scales in
/// it. The products of scales are exact.
template <const PackedLayout& kLayout>
KANTHA_INLINE BlockScales load_scales(const std::byte* unit, const std::byte* scales, int half) {
  BlockScales to = {};
  if constexpr (kLayout.scale_kind == ScaleKind::kHalf) {
    to.d[0] = load_halves(scales + half * 16);
  } else if constexpr (kLayout.scale_kind == ScaleKind::kHalfMinimum) {
    to.d[0] = load_halves(scales + half * 16);
    to.m[0] = load_halves(scales + kLayout.minimums_at - kLayout.scales_at + half * 16);
  } else if constexpr (kLayout.scale_kind == ScaleKind::kPower) {
    to.d[0] = powers(scales + half * 8);
  } else {
    const __m256 d = load_halves(unit + half * 16);
    scales += half * 8;
    if constexpr (kLayout.scale_kind == ScaleKind::kSuper32) {
      to.d[0] = _mm256_mul_ps(d, signed_floats(scales));
    } else if constexpr (kLayout.scale_kind == ScaleKind::kSuper32Minimum) {
      const __m256 m = load_halves(unit + 32 + half * 16);
      const std::byte* minimums = scales + kLayout.minimums_at - kLayout.scales_at;
      to.d[0] = _mm256_mul_ps(d, unsigned_floats(scales));
      to.m[0] = negative(_mm256_mul_ps(m, unsigned_floats(minimums)));
    } else if constexpr (kLayout.scale_kind == ScaleKind::kSuper16) {
      for (int h = 0; h < 2; ++h) to.d[h] = _mm256_mul_ps(d, signed_floats(scales + h * 16));
    } else {
      const __m256 m = load_halves(unit + 32 + half * 16);
      for (int h = 0; h < 2; ++h) {
        const __m256i both = _mm256_cvtepu8_epi32(load_8_bytes(scales + h * 16));
        const __m256i s = _mm256_and_si256(both, _mm256_set1_epi32(15));
        to.d[h] = _mm256_mul_ps(d, _mm256_cvtepi32_ps(s));
        to.m[h] = negative(_mm256_mul_ps(m, _mm256_cvtepi32_ps(_mm256_srli_epi32(both, 4))));
      }
    }
  }
  return to;
}

/// Σ w·q over words kFirst … kLast − 1 of unsigned codes of `kBits` bits. As many products of at
/// most 2·(2^kBits − 1)·127 are added in 16 bits as fit: exact.
template <int kBits, int kFirst, int kLast>
KANTHA_INLINE __m256i dot_codes(const __m256i (&w)[8], const std::byte* q) {
  constexpr int kTogether = kBits <= 4 ? 8 : kBits == 5 ? 4 : 2;
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sum = _mm256_setzero_si256();
  for (int begin = kFirst; begin < kLast; begin += kTogether) {
    __m256i part = _mm256_setzero_si256();
    for (int j = begin; j < kLast && j < begin + kTogether; ++j) {
      const __m256i x = _mm256_set1_epi32(load_int(q + j * 4));
      part = _mm256_add_epi16(part, _mm256_maddubs_epi16(w[j], x));
    }
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(part, ones));
  }
  return sum;
}

/// The same for signed bytes: |w| times x with w's sign, since unsigned 8-bit products would
/// saturate.
template <int kFirst, int kLast>
KANTHA_INLINE __m256i dot_bytes(const __m256i (&w)[8], const std::byte* q) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sum = _mm256_setzero_si256();
  for (int j = kFirst; j < kLast; ++j) {
    const __m256i x = _mm256_set1_epi32(load_int(q + j * 4));
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w[j]), _mm256_sign_epi8(x, w[j]));
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
  }
  return sum;
}

template <const PackedLayout& kLayout, int kFirst, int kLast>
KANTHA_INLINE __m256i dot(const __m256i (&w)[8], const std::byte* q) {
  if constexpr (kSigned<kLayout>) {
    return dot_bytes<kFirst, kLast>(w, q);
  } else {
    return dot_codes<kLayout.low_bits + kLayout.high_bits, kFirst, kLast>(w, q);
  }
}

/// What a block's activations are: int8, 15 bits in two parts, or those with low parts of 0, which
/// are left out: the dot is 1/128 then, and the caller's scale 128 times.
enum class Parts { kInt8, kTwo, kHighOnly };

/// Σ w·q for one token, from `offset` (−128·Σq) on, scaled to the type's zero: exact.
template <const PackedLayout& kLayout, Parts kParts, int kFirst, int kLast>
KANTHA_INLINE __m256i dot_words(const __m256i (&w)[8], const std::byte* panel, int t,
                                std::int32_t offset) {
  const std::byte* high = panel + t * kBlock;
  __m256i sum = dot<kLayout, kFirst, kLast>(w, high);
  if constexpr (kParts == Parts::kTwo) {
    sum = _mm256_add_epi32(_mm256_slli_epi32(sum, 7),
                           dot<kLayout, kFirst, kLast>(w, high + kPanelLow));
  }
  if constexpr (!kSigned<kLayout> && kLayout.zero != 0) {
    offset >>= __builtin_ctz(128 / kLayout.zero) + (kParts == Parts::kHighOnly ? 7 : 0);
    sum = _mm256_add_epi32(sum, _mm256_set1_epi32(offset));
  }
  return sum;
}

/// sum + m·dx·Σq + d·dx·dot, where `scaled_sum` is dx·Σq.
template <bool kHasMinimum>
KANTHA_INLINE __m256 add_block(__m256 sum, __m256i dot, __m256 d, __m256 m, float dx,
                               float scaled_sum) {
  if constexpr (kHasMinimum) sum = _mm256_fmadd_ps(m, _mm256_set1_ps(scaled_sum), sum);
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), _mm256_mul_ps(d, _mm256_set1_ps(dx)), sum);
}

/// One block of 8 rows for token t.
template <const PackedLayout& kLayout, Parts kParts>
KANTHA_INLINE __m256 add_token(__m256 sum, const __m256i (&w)[8], const BlockScales& scales,
                               const std::byte* panel, int t) {
  const float dx = load_float(panel + kPanelScales + t * 4);
  const std::int32_t offset = load_int(panel + kPanelOffsets + t * 4);
  if constexpr (kLayout.halves) {
    const std::int32_t first = load_int(panel + kPanelHalfOffsets + t * 4);
    const std::int32_t second = offset - first;
    const __m256i a = dot_words<kLayout, kParts, 0, 4>(w, panel, t, first);
    const __m256i b = dot_words<kLayout, kParts, 4, 8>(w, panel, t, second);
    sum = add_block<kLayout.has_minimum>(sum, a, scales.d[0], scales.m[0], dx,
                                         dx * static_cast<float>(-(first >> 7)));
    return add_block<kLayout.has_minimum>(sum, b, scales.d[1], scales.m[1], dx,
                                          dx * static_cast<float>(-(second >> 7)));
  } else {
    const __m256i a = dot_words<kLayout, kParts, 0, 8>(w, panel, t, offset);
    return add_block<kLayout.has_minimum>(sum, a, scales.d[0], scales.m[0], dx,
                                          load_float(panel + kPanelSums + t * 4));
  }
}

/// Whether any of tokens first … first + kTokens − 1 has low parts in the block.
template <int kTokens>
KANTHA_INLINE bool has_low(const std::byte* flags, int first) {
  bool any = false;
  for (int t = first; t < first + kTokens; ++t) any |= flags[t] != std::byte{0};
  return any;
}

/// Tokens `first` … `first` + kTokens − 1 of the panel.
template <const PackedLayout& kLayout, bool kFine, int kTokens>
void quantised_tile(const std::byte* group, std::int64_t cols, const std::byte* panel, int first,
                    float* tile) {
  __m256 sums[2][kTokens];
  for (int t = 0; t < kTokens; ++t) sums[0][t] = sums[1][t] = _mm256_setzero_ps();
  const std::byte* flags = panel + cols / kBlock * kFinePanelBlockBytes;
  for (std::int64_t b = 0; b < cols / kBlock; ++b) {
    const std::byte* unit = group + b / kLayout.unit_blocks * kLayout.unit_bytes;
    const std::int64_t index = b % kLayout.unit_blocks;
    const std::byte* codes = unit + kLayout.codes_at + index * kLayout.codes_stride;
    const std::byte* scales_at = unit + kLayout.scales_at + index * kLayout.scales_stride;
    for (int half = 0; half < 2; ++half) {
      __m256i w[8];
      load_codes<kLayout>(codes + half * 32, w);
      BlockScales scales = load_scales<kLayout>(unit, scales_at, half);
      const auto add = [&]<Parts kParts>() {
        for (int i = 0; i < kTokens; ++i) {
          sums[half][i] = add_token<kLayout, kParts>(sums[half][i], w, scales, panel, first + i);
        }
      };
      if constexpr (!kFine) {
        add.template operator()<Parts::kInt8>();
      } else if (has_low<kTokens>(flags + b * kPanelTokens, first)) {
        add.template operator()<Parts::kTwo>();
      } else {
        for (__m256& d : scales.d) d = _mm256_mul_ps(d, _mm256_set1_ps(128));
        add.template operator()<Parts::kHighOnly>();
      }
    }
    panel += kFine ? kFinePanelBlockBytes : kPanelBlockBytes;
  }
  for (int i = 0; i < kTokens; ++i) {
    _mm256_storeu_ps(tile + i * 16, sums[0][i]);
    _mm256_storeu_ps(tile + i * 16 + 8, sums[1][i]);
  }
}

template <const PackedLayout& kLayout, bool kFine>
void quantised_gemm(const std::byte* group, std::int64_t cols, const PanelView& in,
                    std::int64_t tokens, float* tile) {
  int first = 0;
  for (; first + 3 <= tokens; first += 3) {
    quantised_tile<kLayout, kFine, 3>(group, cols, in.q8, first, tile + first * 16);
  }
  switch (tokens - first) {
    case 2: return quantised_tile<kLayout, kFine, 2>(group, cols, in.q8, first, tile + first * 16);
    case 1: return quantised_tile<kLayout, kFine, 1>(group, cols, in.q8, first, tile + first * 16);
    default: return;
  }
}

#include "engine/ops/cpu/isa/gemm_table.inc"

constexpr KernelTable kTable = {
    .name = "avx2",
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

const KernelTable& avx2_kernels() { return kTable; }

}  // namespace kantha::ops::cpu
