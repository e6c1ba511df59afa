#include "engine/exec/row_kernels.h"

#include <cstring>
#include <limits>
#include <type_traits>

#include "base/check.h"

namespace kantha::exec {
namespace {

constexpr std::size_t kLanes = 16;
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Integers = std::int32_t __attribute__((vector_size(kLanes * sizeof(std::int32_t))));
using Doubles = double __attribute__((vector_size(kLanes * sizeof(double))));

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kNothing = -std::numeric_limits<float>::infinity();
constexpr float kDeepest = -87.0F;

// Everything is inlined into one function per instruction set: on its own it would be compiled for
// the plain one.
#define KANTHA_INLINE [[gnu::always_inline]] inline

KANTHA_INLINE void load(const float* from, Floats& to) { std::memcpy(&to, from, sizeof to); }

/// exp(x) for x ≤ 0: Cody-Waite reduction by ln 2 and a Taylor polynomial of degree 7 on
/// [-ln2/2, ln2/2]. For one float and for lanes of them alike.
template <class Real, class Integer>
KANTHA_INLINE void exp_nonpositive(Real& x) {
#pragma clang fp contract(off)
  const auto below = x < kDeepest;
  Real kept = x;
  kept = below ? Real{} + kDeepest : kept;
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const Real shifted = kept * 1.44269504F + kRounder;
  const Real n = shifted - kRounder;
  const Real r = (kept - n * 0.693359375F) - n * -2.12194440e-4F;
  Real p = r * (1.0F / 5040) + (1.0F / 720);
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  Integer exponent;
  if constexpr (std::is_same_v<Real, float>) {
    exponent = (static_cast<Integer>(n) + 127) << 23;
  } else {
    exponent = (__builtin_convertvector(n, Integer) + 127) << 23;
  }
  Real power;
  std::memcpy(&power, &exponent, sizeof power);
  x = below ? Real{} : p * power;
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

KANTHA_INLINE double weigh(const float* x, std::size_t count, WeightScale scale, float* weights) {
#pragma clang fp contract(off)
  Doubles sums{};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Floats value;
    load(x + i, value);
    value = (value - scale.max) * scale.inverse;
    exp_nonpositive<Floats, Integers>(value);
    if (weights != nullptr) std::memcpy(weights + i, &value, sizeof value);
    sums += __builtin_convertvector(value, Doubles);
  }
  double sum = 0;
  for (; i < count; ++i) {
    const float weight = weight_of(x[i], scale);
    if (weights != nullptr) weights[i] = weight;
    sum += double{weight};
  }
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sum + sums[0];
}

struct Kernels {
  float (*maximum)(const float*, std::size_t);
  std::size_t (*find)(const float*, std::size_t, float);
  double (*weigh)(const float*, std::size_t, WeightScale, float*);
};

float maximum_plain(const float* x, std::size_t count) { return maximum(x, count); }
std::size_t find_plain(const float* x, std::size_t count, float value) {
  return find(x, count, value);
}
double weigh_plain(const float* x, std::size_t count, WeightScale scale, float* weights) {
  return weigh(x, count, scale, weights);
}
constexpr Kernels kPlain{maximum_plain, find_plain, weigh_plain};

#ifdef __x86_64__
[[gnu::target("avx2")]] float maximum_avx2(const float* x, std::size_t count) {
  return maximum(x, count);
}
[[gnu::target("avx2")]] std::size_t find_avx2(const float* x, std::size_t count, float value) {
  return find(x, count, value);
}
[[gnu::target("avx2")]] double weigh_avx2(const float* x, std::size_t count, WeightScale scale,
                                          float* weights) {
  return weigh(x, count, scale, weights);
}
constexpr Kernels kAvx2{maximum_avx2, find_avx2, weigh_avx2};

[[gnu::target("avx512f")]] float maximum_avx512(const float* x, std::size_t count) {
  return maximum(x, count);
}
[[gnu::target("avx512f")]] std::size_t find_avx512(const float* x, std::size_t count, float value) {
  return find(x, count, value);
}
[[gnu::target("avx512f")]] double weigh_avx512(const float* x, std::size_t count, WeightScale scale,
                                               float* weights) {
  return weigh(x, count, scale, weights);
}
constexpr Kernels kAvx512{maximum_avx512, find_avx512, weigh_avx512};
#endif

const Kernels& kernels() {
  static const Kernels& chosen = [] -> const Kernels& {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f")) return kAvx512;
    if (__builtin_cpu_supports("avx2")) return kAvx2;
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

float weight_of(float logit, WeightScale scale) {
  float x = (logit - scale.max) * scale.inverse;
  exp_nonpositive<float, std::int32_t>(x);
  return x;
}

double weigh_block(std::span<const float> logits, WeightScale scale, std::span<float> weights) {
  CHECK(weights.empty() || weights.size() >= logits.size(), "a weight for each logit");
  return kernels().weigh(logits.data(), logits.size(), scale,
                         weights.empty() ? nullptr : weights.data());
}

}  // namespace kantha::exec
