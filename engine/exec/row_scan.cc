#include "engine/exec/row_scan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>

#include "base/check.h"

namespace kantha::exec {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();
constexpr std::size_t kLanes = 16;

/// Maximum of up to kBlock logits; sets `bad` on NaN and +inf. Lanes are independent, so that the
/// compiler may use vector registers without changing a result.
float block_maximum(const float* x, std::size_t count, bool& bad) {
  std::array<float, kLanes> best;
  std::array<std::int32_t, kLanes> wrong{};
  best.fill(kNothing);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float value = x[i + lane];
      best[lane] = value > best[lane] ? value : best[lane];
      wrong[lane] |= value <= std::numeric_limits<float>::max() ? 0 : 1;
    }
  }
  for (; i < count; ++i) {
    best[0] = x[i] > best[0] ? x[i] : best[0];
    wrong[0] |= x[i] <= std::numeric_limits<float>::max() ? 0 : 1;
  }
  for (const std::int32_t flag : wrong) bad = bad || flag != 0;
  return *std::ranges::max_element(best);
}

/// exp(x) for x ≤ 0 within 2 ulp; 0 below -87. Cody-Waite reduction by ln 2 and a Taylor polynomial
/// of degree 7 on [-ln2/2, ln2/2]; no branch, for the same reason as above.
float exp_nonpositive(float x) {
  const float kept = x < -87.0F ? -87.0F : x;
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = kept * 1.44269504F + kRounder;
  const float n = shifted - kRounder;
  const float r = (kept - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.0F / 5040;
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const std::int32_t exponent = static_cast<std::int32_t>(n) + 127;
  const float scale = std::bit_cast<float>(exponent << 23);
  return x < -87.0F ? 0.0F : p * scale;
}

}  // namespace

std::optional<std::string> RowScan::scan(std::span<const float> logits) {
  CHECK(!logits.empty(), "a vocabulary has tokens");
  logits_ = logits;
  block_max_.clear();
  bool bad = false;
  max_ = kNothing;
  for (std::size_t start = 0; start < logits.size(); start += kBlock) {
    const std::size_t count = std::min(kBlock, logits.size() - start);
    block_max_.push_back(block_maximum(logits.data() + start, count, bad));
    max_ = std::max(max_, block_max_.back());
  }
  if (bad) return "the model's output holds NaN or infinity";
  if (max_ == kNothing) return "the model's output allows no token";
  return std::nullopt;
}

TokenId RowScan::argmax() const {
  const auto block =
      static_cast<std::size_t>(std::ranges::find(block_max_, max_) - block_max_.begin());
  const auto rest = logits_.subspan(block * kBlock);
  return static_cast<TokenId>(block * kBlock) +
         static_cast<TokenId>(std::ranges::find(rest, max_) - rest.begin());
}

void RowScan::above(float floor, std::vector<Candidate>& kept) const {
  kept.clear();
  for (std::size_t block = 0; block < block_max_.size(); ++block) {
    if (block_max_[block] < floor) continue;
    const std::size_t end = std::min((block + 1) * kBlock, logits_.size());
    for (std::size_t i = block * kBlock; i < end; ++i) {
      if (logits_[i] >= floor && logits_[i] > kNothing) {
        kept.push_back({.logit = logits_[i], .token = static_cast<TokenId>(i)});
      }
    }
  }
}

void RowScan::best(std::size_t n, std::vector<Candidate>& kept) const {
  kept.clear();
  if (n == 0) return;
  // The n-th best block maximum is a floor: at least n logits reach it.
  float floor = kNothing;
  if (n <= block_max_.size()) {
    order_ = block_max_;
    const auto nth = order_.begin() + static_cast<std::ptrdiff_t>(n - 1);
    std::ranges::nth_element(order_, nth, std::greater<>());
    floor = *nth;
  }
  above(floor, kept);
  if (kept.size() <= n) return;
  std::ranges::nth_element(kept, kept.begin() + static_cast<std::ptrdiff_t>(n),
                           &Candidate::better_than);
  kept.resize(n);
}

void RowWeights::compute(std::span<const float> logits, float max, float temperature) {
  weights_.resize(logits.size());
  block_sums_.clear();
  logits_ = logits;
  max_ = max;
  inverse_ = 1.0F / temperature;
  const float inverse = inverse_;
  total_ = 0;
  for (std::size_t start = 0; start < logits.size(); start += RowScan::kBlock) {
    const std::size_t end = std::min(start + RowScan::kBlock, logits.size());
    for (std::size_t i = start; i < end; ++i) {
      weights_[i] = exp_nonpositive((logits[i] - max) * inverse);
    }
    std::array<double, 8> sums{};
    std::size_t i = start;
    for (; i + 8 <= end; i += 8) {
      for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += double{weights_[i + lane]};
    }
    for (; i < end; ++i) sums[0] += double{weights_[i]};
    double sum = 0;
    for (const double lane : sums) sum += lane;
    block_sums_.push_back(sum);
    total_ += sum;
  }
}

float RowWeights::depth_of(double need) const {
  // exp(-20) of the best is far below what decides a prefix; deeper tokens share one bucket.
  constexpr std::size_t kBuckets = 20 * 64;
  by_depth_.assign(kBuckets + 1, 0);
  const float scale = inverse_ / kDepthStep;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const float place = (max_ - logits_[i]) * scale;
    const auto bucket = place < float{kBuckets} ? static_cast<std::size_t>(place) : kBuckets;
    by_depth_[bucket] += double{weights_[i]};
  }
  double passed = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    passed += by_depth_[bucket];
    if (passed >= need) return static_cast<float>(bucket + 1) * kDepthStep;
  }
  return std::numeric_limits<float>::infinity();
}

TokenId RowWeights::token_at(double target) const {
  double passed = 0;
  std::size_t block = 0;
  while (block + 1 < block_sums_.size() && passed + block_sums_[block] <= target) {
    passed += block_sums_[block++];
  }
  // Rounding may leave the target just behind the last weight: then the last possible token it is.
  TokenId last = -1;
  for (std::size_t i = block * RowScan::kBlock; i < weights_.size(); ++i) {
    if (weights_[i] == 0) continue;
    last = static_cast<TokenId>(i);
    passed += double{weights_[i]};
    if (passed > target) return last;
  }
  for (std::size_t i = block * RowScan::kBlock; last < 0 && i-- > 0;) {
    if (weights_[i] > 0) last = static_cast<TokenId>(i);
  }
  return last;
}

}  // namespace kantha::exec
