#include "engine/exec/row_kernels.h"

#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/check.h"

namespace kantha::exec {
namespace {

constexpr std::size_t kLanes = 16;
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Integers = std::int32_t __attribute__((vector_size(kLanes * sizeof(std::int32_t))));

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kNothing = -std::numeric_limits<float>::infinity();
constexpr float kDeepest = -87.0F;

// Everything is inlined into one function per instruction set: on its own it would be compiled for
// the plain one.
#define KANTHA_INLINE [[gnu::always_inline]] inline

KANTHA_INLINE void load(const float* from, Floats& to) { std::memcpy(&to, from, sizeof to); }

/// exp(x) for x ≤ 0: Cody-Waite reduction by ln 2 and a polynomial of degree 6 on
/// [-ln2/2, ln2/2] with a relative error of 4e-9 at most (least squares, reweighted until level).
/// For one float and for lanes of them alike.
template <class Real, class Integer>
KANTHA_INLINE void exp_nonpositive(Real& x) {
  const Real zero{};
  const auto below = x < kDeepest;
  const Real kept = below ? zero + kDeepest : x;
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const Real shifted = __builtin_elementwise_fma(kept, zero + 1.44269504F, zero + kRounder);
  const Real n = shifted - kRounder;
  Real r = __builtin_elementwise_fma(n, zero - 0.693359375F, kept);
  r = __builtin_elementwise_fma(n, zero + 2.12194440e-4F, r);
  Real p = __builtin_elementwise_fma(r, zero + 0.0013814467F, zero + 0.008368781F);
  p = __builtin_elementwise_fma(p, r, zero + 0.041668393F);
  p = __builtin_elementwise_fma(p, r, zero + 0.1666652F);
  p = __builtin_elementwise_fma(p, r, zero + 0.49999994F);
  p = __builtin_elementwise_fma(p, r, zero + 1.0F);
  p = __builtin_elementwise_fma(p, r, zero + 1.0F);
  // The low bits of `shifted` are n: they go to the exponent.
  Integer exponent;
  Integer power;
  std::memcpy(&exponent, &shifted, sizeof exponent);
  std::memcpy(&power, &p, sizeof power);
  if constexpr (std::is_same_v<Real, float>) {
    power = std::bit_cast<Integer>(std::bit_cast<std::uint32_t>(power) +
                                   (std::bit_cast<std::uint32_t>(exponent) << 23));
  } else {
    power += exponent << 23;
  }
  std::memcpy(&p, &power, sizeof p);
  x = below ? zero : p;
}

KANTHA_INLINE float maximum(const float* x, std::size_t count) {
  Floats best = Floats{} + kNothing;
  Integers wrong{};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Floats value;
    load(x + i, value);
    best = value > best ? value : best;
    wrong |= ~(value <= kLargest);
  }
  float most = kNothing;
  bool bad = false;
  for (; i < count; ++i) {
    most = x[i] > most ? x[i] : most;
    bad = bad || !(x[i] <= kLargest);
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    most = best[lane] > most ? best[lane] : most;
    bad = bad || wrong[lane] != 0;
  }
  return bad ? std::numeric_limits<float>::quiet_NaN() : most;
}

KANTHA_INLINE std::size_t find(const float* x, std::size_t count, float value) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Floats lanes;
    load(x + i, lanes);
    if (__builtin_reduce_or(lanes == value) != 0) break;
  }
  while (i < count && x[i] != value) ++i;
  return i;
}

/// One order of addition for all sums: lanes, halved, then the tail.
KANTHA_INLINE float sum_of(Floats& sums, float tail) {
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0] + tail;
}

KANTHA_INLINE float weight(float logit, WeightScale scale) {
  float x = (logit - scale.max) * scale.inverse;
  exp_nonpositive<float, std::int32_t>(x);
  return x;
}

KANTHA_INLINE float weigh(const float* x, std::size_t count, WeightScale scale, float* weights) {
  Floats sums{};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Floats value;
    load(x + i, value);
    value = (value - scale.max) * scale.inverse;
    exp_nonpositive<Floats, Integers>(value);
    if (weights != nullptr) std::memcpy(weights + i, &value, sizeof value);
    sums += value;
  }
  float tail = 0;
  for (; i < count; ++i) {
    const float one = weight(x[i], scale);
    if (weights != nullptr) weights[i] = one;
    tail += one;
  }
  return sum_of(sums, tail);
}

KANTHA_INLINE float weigh_over(const float* x, std::size_t count, WeightScale scale, float floor) {
  Floats sums{};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Floats value;
    load(x + i, value);
    const auto in = value > floor;
    if (__builtin_reduce_or(in) == 0) continue;
    value = (value - scale.max) * scale.inverse;
    exp_nonpositive<Floats, Integers>(value);
    sums += in ? value : Floats{};
  }
  float tail = 0;
  for (; i < count; ++i) {
    if (x[i] > floor) tail += weight(x[i], scale);
  }
  return sum_of(sums, tail);
}

KANTHA_INLINE std::size_t count_over(const float* x, std::size_t count, float floor) {
  Integers counts{};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Floats value;
    load(x + i, value);
    counts -= value > floor;
  }
  auto found = static_cast<std::size_t>(__builtin_reduce_add(counts));
  for (; i < count; ++i) found += x[i] > floor ? 1U : 0U;
  return found;
}

struct Kernels {
  float (*maximum)(const float*, std::size_t);
  std::size_t (*find)(const float*, std::size_t, float);
  float (*weight)(float, WeightScale);
  float (*weigh)(const float*, std::size_t, WeightScale, float*);
  float (*weigh_over)(const float*, std::size_t, WeightScale, float);
  std::size_t (*count_over)(const float*, std::size_t, float);
};

// The same functions for one instruction set: `target` is its attribute or nothing.
#define KANTHA_KERNELS(name, constant, target)                                                     \
  target float maximum_##name(const float* x, std::size_t count) { return maximum(x, count); }     \
  target std::size_t find_##name(const float* x, std::size_t count, float value) {                 \
    return find(x, count, value);                                                                  \
  }                                                                                                \
  target float weight_##name(float x, WeightScale scale) { return weight(x, scale); }              \
  target float weigh_##name(const float* x, std::size_t count, WeightScale scale,                  \
                            float* weights) {                                                      \
    return weigh(x, count, scale, weights);                                                        \
  }                                                                                                \
  target float weigh_over_##name(const float* x, std::size_t count, WeightScale scale,             \
                                 float floor) {                                                    \
    return weigh_over(x, count, scale, floor);                                                     \
  }                                                                                                \
  target std::size_t count_over_##name(const float* x, std::size_t count, float floor) {           \
    return count_over(x, count, floor);                                                            \
  }                                                                                                \
  constexpr Kernels constant {                                                                     \
    maximum_##name, find_##name, weight_##name, weigh_##name, weigh_over_##name, count_over_##name \
  }

KANTHA_KERNELS(plain, kPlain, );
#ifdef __x86_64__
KANTHA_KERNELS(avx2, kAvx2, [[gnu::target("avx2,fma")]]);
KANTHA_KERNELS(avx512, kAvx512, [[gnu::target("avx512f")]]);
#endif

const Kernels& kernels() {
  static const Kernels& chosen = [] -> const Kernels& {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f")) return kAvx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kAvx2;
#endif
    return kPlain;
  }();
  return chosen;
}

}  // namespace

float block_maximum(std::span<const float> logits) {
  return kernels().maximum(logits.data(), logits.size());
}

std::size_t first_equal(std::span<const float> logits, float value) {
  return kernels().find(logits.data(), logits.size(), value);
}

float weight_of(float logit, WeightScale scale) { return kernels().weight(logit, scale); }

float weigh_block(std::span<const float> logits, WeightScale scale, std::span<float> weights) {
  CHECK(weights.empty() || weights.size() >= logits.size(), "a weight for each logit");
  return kernels().weigh(logits.data(), logits.size(), scale,
                         weights.empty() ? nullptr : weights.data());
}

float weigh_above(std::span<const float> logits, WeightScale scale, float floor) {
  return kernels().weigh_over(logits.data(), logits.size(), scale, floor);
}

std::size_t count_above(std::span<const float> logits, float floor) {
  return kernels().count_over(logits.data(), logits.size(), floor);
}

float block_weight(std::span<const float> logits, float maximum, float inverse_temperature) {
  // -inf - -inf is no weight, and a row with NaN is an error anyhow.
  if (!(maximum > kNothing)) return 0;
  return weigh_block(logits, {.max = maximum, .inverse = inverse_temperature});
}

}  // namespace kantha::exec
