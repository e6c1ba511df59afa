#include <immintrin.h>

#include "engine/ops/cpu/kernel_table.h"

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

/// How a packed type gives, per 32-block, eight vectors of unsigned bytes (dword lane = row, vector
/// j = columns 4j … 4j + 3) and its scales.
struct Q41 {
  static constexpr bool kHasMinimum = true;
  static constexpr int kOffsetShift = -1;  ///< no integer offset
  static const std::byte* quants(const std::byte* g, std::int64_t b) { return g + b * 320; }
  static const std::byte* scales(const std::byte* g, std::int64_t b) { return g + b * 320 + 256; }
};

struct Q40 {
  static constexpr bool kHasMinimum = false;
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
  static constexpr int kOffsetShift = 0;
  static const std::byte* quants(const std::byte* g, std::int64_t b) {
    return g + (b >> 1) * 1088 + (b & 1) * 512;
  }
  static const std::byte* scales(const std::byte* g, std::int64_t b) {
    return g + (b >> 1) * 1088 + 1024 + (b & 1) * 32;
  }
};

KANTHA_INLINE void load_bytes(const std::byte* p, __m512i (&w)[8], bool nibbles) {
  const __m512i low = _mm512_set1_epi8(15);
  for (int j = 0; j < (nibbles ? 4 : 8); ++j) {
    const __m512i v = _mm512_loadu_si512(p + j * 64);
    if (nibbles) {
      w[j] = _mm512_and_si512(v, low);
      w[j + 4] = _mm512_and_si512(_mm512_srli_epi16(v, 4), low);
    } else {
      w[j] = v;
    }
  }
}

/// `start` + Σ w·q over a block for one token, q being 32 bytes: exact.
template <bool kTwoChains>
KANTHA_INLINE __m512i dot(const __m512i (&w)[8], const std::byte* q, __m512i start) {
  __m512i a = start;
  __m512i b = _mm512_setzero_si512();
  for (int j = 0; j < 8; ++j) {
    const __m512i x = _mm512_set1_epi32(load_int(q + j * 4));
    __m512i& chain = kTwoChains && j % 2 == 1 ? b : a;
    chain = _mm512_dpbusd_epi32(chain, w[j], x);
  }
  return kTwoChains ? _mm512_add_epi32(a, b) : a;
}

/// The same with the type's integer offset, and with both parts of fine activations.
template <class Type, bool kFine, bool kTwoChains>
KANTHA_INLINE __m512i dot_block(const __m512i (&w)[8], const std::byte* panel, int t) {
  __m512i start = _mm512_setzero_si512();
  if constexpr (Type::kOffsetShift >= 0) {
    start = _mm512_set1_epi32(load_int(panel + kPanelOffsets + t * 4) >> Type::kOffsetShift);
  }
  const std::byte* high = panel + t * kBlock;
  if constexpr (kFine) {
    const __m512i sum = dot<kTwoChains>(w, high, _mm512_setzero_si512());
    start = _mm512_add_epi32(start, _mm512_slli_epi32(sum, 7));
    return dot<kTwoChains>(w, high + kPanelLow, start);
  } else {
    return dot<kTwoChains>(w, high, start);
  }
}

template <class Type, bool kFine, int kTokens>
void quantised_tile(const std::byte* group, std::int64_t cols, const std::byte* panel,
                    float* tile) {
  __m512 sums[kTokens];
  for (int t = 0; t < kTokens; ++t) sums[t] = _mm512_setzero_ps();
  for (std::int64_t b = 0; b < cols / kBlock; ++b) {
    __m512i w[8];
    load_bytes(Type::quants(group, b), w, /*nibbles=*/Type::kOffsetShift != 0);
    const __m512 d = load_halves(Type::scales(group, b));
    for (int t = 0; t < kTokens; ++t) {
      const __m512 integers =
          _mm512_cvtepi32_ps(dot_block<Type, kFine, (kTokens <= 4)>(w, panel, t));
      if constexpr (Type::kHasMinimum) {
        const __m512 m = load_halves(Type::scales(group, b) + 32);
        const float sum = load_float(panel + kPanelSums + t * 4);
        sums[t] = _mm512_fmadd_ps(m, _mm512_set1_ps(sum), sums[t]);
      }
      const __m512 dx = _mm512_set1_ps(load_float(panel + kPanelScales + t * 4));
      sums[t] = _mm512_fmadd_ps(integers, _mm512_mul_ps(d, dx), sums[t]);
    }
    panel += kFine ? kFinePanelBlockBytes : kPanelBlockBytes;
  }
  for (int t = 0; t < kTokens; ++t) _mm512_storeu_ps(tile + t * 16, sums[t]);
}

template <class Type, bool kFine>
void quantised_gemm(const std::byte* group, std::int64_t cols, const PanelView& in,
                    std::int64_t tokens, float* tile) {
  switch (tokens) {
    case 1: return quantised_tile<Type, kFine, 1>(group, cols, in.q8, tile);
    case 2: return quantised_tile<Type, kFine, 2>(group, cols, in.q8, tile);
    case 3: return quantised_tile<Type, kFine, 3>(group, cols, in.q8, tile);
    case 4: return quantised_tile<Type, kFine, 4>(group, cols, in.q8, tile);
    case 5: return quantised_tile<Type, kFine, 5>(group, cols, in.q8, tile);
    case 6: return quantised_tile<Type, kFine, 6>(group, cols, in.q8, tile);
    case 7: return quantised_tile<Type, kFine, 7>(group, cols, in.q8, tile);
    default: return quantised_tile<Type, kFine, 8>(group, cols, in.q8, tile);
  }
}

constexpr KernelTable kTable = {
    .name = "avx512",
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

const KernelTable& avx512_kernels() { return kTable; }

}  // namespace kantha::ops::cpu
