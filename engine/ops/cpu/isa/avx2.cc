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

/// Where a packed type keeps block b, and how half of its rows are multiplied.
struct Q41 {
  static constexpr bool kHasMinimum = true;
  static const std::byte* quants(const std::byte* g, std::int64_t b) { return g + b * 320; }
  static const std::byte* scales(const std::byte* g, std::int64_t b) { return g + b * 320 + 256; }
  static constexpr auto kDot = dot_nibbles;
  static constexpr int kOffsetShift = -1;  ///< no integer offset
};

struct Q40 {
  static constexpr bool kHasMinimum = false;
  static constexpr auto kDot = dot_nibbles;
  static constexpr int kOffsetShift = 4;  ///< −128·Σq / 16 = −8·Σq
  static const std::byte* quants(const std::byte* g, std::int64_t b) {
    return g + (b >> 1) * 576 + (b & 1) * 256;
  }
  static const std::byte* scales(const std::byte* g, std::int64_t b) {
    return g + (b >> 1) * 576 + 512 + (b & 1) * 32;
  }
};

struct Q80 {
  static constexpr bool kHasMinimum = false;
  static constexpr auto kDot = dot_bytes;
  static constexpr int kOffsetShift = -1;  ///< the dot is signed
  static const std::byte* quants(const std::byte* g, std::int64_t b) {
    return g + (b >> 1) * 1088 + (b & 1) * 512;
  }
  static const std::byte* scales(const std::byte* g, std::int64_t b) {
    return g + (b >> 1) * 1088 + 1024 + (b & 1) * 32;
  }
};

/// Σ w·q over a block for one token, with the type's integer offset and both parts of fine
/// activations: exact.
template <class Type, bool kFine>
KANTHA_INLINE __m256i dot_block(const std::byte* w, const std::byte* panel, int t) {
  const std::byte* high = panel + t * kBlock;
  __m256i sum = Type::kDot(w, high);
  if constexpr (kFine) {
    sum = _mm256_add_epi32(_mm256_slli_epi32(sum, 7), Type::kDot(w, high + kPanelLow));
  }
  if constexpr (Type::kOffsetShift >= 0) {
    const std::int32_t offset = load_int(panel + kPanelOffsets + t * 4) >> Type::kOffsetShift;
    sum = _mm256_add_epi32(sum, _mm256_set1_epi32(offset));
  }
  return sum;
}

/// Tokens `first` … `first` + kTokens − 1 of the panel.
template <class Type, bool kFine, int kTokens>
void quantised_tile(const std::byte* group, std::int64_t cols, const std::byte* panel, int first,
                    float* tile) {
  __m256 sums[2][kTokens];
  for (int t = 0; t < kTokens; ++t) sums[0][t] = sums[1][t] = _mm256_setzero_ps();
  for (std::int64_t b = 0; b < cols / kBlock; ++b) {
    for (int half = 0; half < 2; ++half) {
      const std::byte* scales = Type::scales(group, b) + half * 16;
      const __m256 d = load_halves(scales);
      for (int i = 0; i < kTokens; ++i) {
        const int t = first + i;
        const __m256i dot = dot_block<Type, kFine>(Type::quants(group, b) + half * 32, panel, t);
        if constexpr (Type::kHasMinimum) {
          const __m256 sum = _mm256_set1_ps(load_float(panel + kPanelSums + t * 4));
          sums[half][i] = _mm256_fmadd_ps(load_halves(scales + 32), sum, sums[half][i]);
        }
        const __m256 dx = _mm256_set1_ps(load_float(panel + kPanelScales + t * 4));
        sums[half][i] =
            _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), _mm256_mul_ps(d, dx), sums[half][i]);
      }
    }
    panel += kFine ? kFinePanelBlockBytes : kPanelBlockBytes;
  }
  for (int i = 0; i < kTokens; ++i) {
    _mm256_storeu_ps(tile + i * 16, sums[0][i]);
    _mm256_storeu_ps(tile + i * 16 + 8, sums[1][i]);
  }
}

template <class Type, bool kFine>
void quantised_gemm(const std::byte* group, std::int64_t cols, const PanelView& in,
                    std::int64_t tokens, float* tile) {
  int first = 0;
  for (; first + 3 <= tokens; first += 3) {
    quantised_tile<Type, kFine, 3>(group, cols, in.q8, first, tile + first * 16);
  }
  switch (tokens - first) {
    case 2: return quantised_tile<Type, kFine, 2>(group, cols, in.q8, first, tile + first * 16);
    case 1: return quantised_tile<Type, kFine, 1>(group, cols, in.q8, first, tile + first * 16);
    default: return;
  }
}

constexpr KernelTable kTable = {
    .name = "avx2",
    .gemm = {float_gemm<LoadF32>, float_gemm<LoadF16>, float_gemm<LoadBF16>,
             quantised_gemm<Q40, false>, quantised_gemm<Q41, false>, quantised_gemm<Q80, false>},
    .gemm_fine = {float_gemm<LoadF32>, float_gemm<LoadF16>, float_gemm<LoadBF16>,
                  quantised_gemm<Q40, true>, quantised_gemm<Q41, true>, quantised_gemm<Q80, true>},
    .rmsnorm_row = rmsnorm_row,
    .quantise_row = quantise_blocks<127>,
    .quantise_row_fine = quantise_blocks<127 * 128>,
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
