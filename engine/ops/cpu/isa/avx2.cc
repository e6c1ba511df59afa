#include <immintrin.h>

#include "engine/ops/cpu/kernel_table.h"

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

/// Σ w·q over a block of 8 rows of 4-bit weights. Eight products of at most 2·15·127 fit an int16,
/// so one widening add serves the block: exact.
KANTHA_INLINE __m256i dot_nibbles(const std::byte* quants, const std::byte* q) {
  const __m256i low = _mm256_set1_epi8(15);
  __m256i sum = _mm256_setzero_si256();
  for (int j = 0; j < 4; ++j) {
    const __m256i w = load_half_vector(quants + j * 64);
    const __m256i a = _mm256_and_si256(w, low);
    const __m256i b = _mm256_and_si256(_mm256_srli_epi16(w, 4), low);
    const __m256i x = _mm256_set1_epi32(load_int(q + j * 4));
    const __m256i y = _mm256_set1_epi32(load_int(q + 16 + j * 4));
    sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(a, x));
    sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(b, y));
  }
  return _mm256_madd_epi16(sum, _mm256_set1_epi16(1));
}

/// The same for bytes stored as q ^ 0x80: |w| times x with w's sign, since unsigned 8-bit products
/// would saturate.
KANTHA_INLINE __m256i dot_bytes(const std::byte* quants, const std::byte* q) {
  const __m256i flip = _mm256_set1_epi8(static_cast<char>(0x80));
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sum = _mm256_setzero_si256();
  for (int j = 0; j < 8; ++j) {
    const __m256i w = _mm256_xor_si256(load_half_vector(quants + j * 64), flip);
    const __m256i x = _mm256_set1_epi32(load_int(q + j * 4));
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
  }
  return sum;
}

/// Where a packed type keeps block b, and the integer dot of its rows 8·half … with one token.
struct Q41 {
  static constexpr bool kHasMinimum = true;
  static const std::byte* quants(const std::byte* g, std::int64_t b) { return g + b * 320; }
  static const std::byte* scales(const std::byte* g, std::int64_t b) { return g + b * 320 + 256; }
  KANTHA_INLINE static __m256i dot(const std::byte* w, const std::byte* panel, int t) {
    return dot_nibbles(w, panel + t * kBlock);
  }
};

struct Q40 {
  static constexpr bool kHasMinimum = false;
  static const std::byte* quants(const std::byte* g, std::int64_t b) {
    return g + (b >> 1) * 576 + (b & 1) * 256;
  }
  static const std::byte* scales(const std::byte* g, std::int64_t b) {
    return g + (b >> 1) * 576 + 512 + (b & 1) * 32;
  }
  KANTHA_INLINE static __m256i dot(const std::byte* w, const std::byte* panel, int t) {
    const std::int32_t offset = load_int(panel + kPanelOffsets + t * 4) >> 4;
    return _mm256_add_epi32(dot_nibbles(w, panel + t * kBlock), _mm256_set1_epi32(offset));
  }
};

struct Q80 {
  static constexpr bool kHasMinimum = false;
  static const std::byte* quants(const std::byte* g, std::int64_t b) {
    return g + (b >> 1) * 1088 + (b & 1) * 512;
  }
  static const std::byte* scales(const std::byte* g, std::int64_t b) {
    return g + (b >> 1) * 1088 + 1024 + (b & 1) * 32;
  }
  KANTHA_INLINE static __m256i dot(const std::byte* w, const std::byte* panel, int t) {
    return dot_bytes(w, panel + t * kBlock);
  }
};

/// Tokens `first` … `first` + kTokens − 1 of the panel.
template <class Type, int kTokens>
void quantised_tile(const std::byte* group, std::int64_t cols, const std::byte* panel, int first,
                    float* tile) {
  __m256 sums[2][kTokens];
  for (int t = 0; t < kTokens; ++t) sums[0][t] = sums[1][t] = _mm256_setzero_ps();
  for (std::int64_t b = 0; b < cols / kBlock; ++b, panel += kPanelBlockBytes) {
    for (int half = 0; half < 2; ++half) {
      const std::byte* scales = Type::scales(group, b) + half * 16;
      const __m256 d = load_halves(scales);
      for (int i = 0; i < kTokens; ++i) {
        const int t = first + i;
        const __m256i dot = Type::dot(Type::quants(group, b) + half * 32, panel, t);
        if constexpr (Type::kHasMinimum) {
          const __m256 sum = _mm256_set1_ps(load_float(panel + kPanelSums + t * 4));
          sums[half][i] = _mm256_fmadd_ps(load_halves(scales + 32), sum, sums[half][i]);
        }
        const __m256 dx = _mm256_set1_ps(load_float(panel + kPanelScales + t * 4));
        sums[half][i] =
            _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), _mm256_mul_ps(d, dx), sums[half][i]);
      }
    }
  }
  for (int i = 0; i < kTokens; ++i) {
    _mm256_storeu_ps(tile + i * 16, sums[0][i]);
    _mm256_storeu_ps(tile + i * 16 + 8, sums[1][i]);
  }
}

template <class Type>
void quantised_gemm(const std::byte* group, std::int64_t cols, const PanelView& in,
                    std::int64_t tokens, float* tile) {
  int first = 0;
  for (; first + 3 <= tokens; first += 3) {
    quantised_tile<Type, 3>(group, cols, in.q8, first, tile + first * 16);
  }
  switch (tokens - first) {
    case 2: return quantised_tile<Type, 2>(group, cols, in.q8, first, tile + first * 16);
    case 1: return quantised_tile<Type, 1>(group, cols, in.q8, first, tile + first * 16);
    default: return;
  }
}

constexpr KernelTable kTable = {
    .name = "avx2",
    .gemm = {float_gemm<LoadF32>, float_gemm<LoadF16>, float_gemm<LoadBF16>, quantised_gemm<Q40>,
             quantised_gemm<Q41>, quantised_gemm<Q80>},
    .rmsnorm_row = rmsnorm_row,
    .quantise_row = quantise_row,
    .add_tile = add_tile,
    .store_tile = store_tile,
    .silu_mul_tile = silu_mul_tile,
    .rotate_16 = rotate_16,
    .to_f16_16 = to_f16_16,
    .attend_piece = attend_piece,
    .scale_row = scale_row,
};

}  // namespace

const KernelTable& avx2_kernels() { return kTable; }

}  // namespace kantha::ops::cpu
