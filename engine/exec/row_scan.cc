#include "engine/exec/row_scan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "base/check.h"

namespace kantha::exec {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

std::span<const float> block_of(std::span<const float> logits, std::size_t index) {
  const std::size_t start = index * kLogitBlock;
  return logits.subspan(start, std::min(kLogitBlock, logits.size() - start));
}

}  // namespace

std::optional<std::string> RowScan::scan(std::span<const float> logits,
                                         std::span<const float> maxima) {
  CHECK(!logits.empty(), "a vocabulary has tokens");
  const std::size_t blocks = logit_blocks(logits.size());
  CHECK(maxima.empty() || maxima.size() == blocks, "a maximum for each block");
  logits_ = logits;
  if (maxima.empty()) {
    block_max_.clear();
    for (std::size_t i = 0; i < blocks; ++i) {
      block_max_.push_back(block_maximum(block_of(logits, i)));
    }
  } else {
    block_max_.assign(maxima.begin(), maxima.end());
  }
  return judge();
}

std::optional<std::string> RowScan::judge() {
  max_ = block_maximum(block_max_);
  if (std::isnan(max_)) return "the model's output holds NaN or infinity";
  if (max_ == kNothing) return "the model's output allows no token";
  return std::nullopt;
}

std::optional<std::string> RowScan::mask(std::span<float> logits, std::span<const TokenId> tokens) {
  CHECK(logits.data() == logits_.data(), "the row that was scanned");
  for (const TokenId token : tokens) logits[static_cast<std::size_t>(token)] = kNothing;
  for (const TokenId token : tokens) {
    const std::size_t index = static_cast<std::size_t>(token) / kLogitBlock;
    block_max_[index] = block_maximum(block_of(logits_, index));
  }
  return judge();
}

TokenId RowScan::argmax() const {
  const std::size_t block = first_equal(block_max_, max_);
  return static_cast<TokenId>(block * kLogitBlock + first_equal(block_of(logits_, block), max_));
}

void RowScan::above(float floor, std::vector<Candidate>& kept) const {
  kept.clear();
  for (std::size_t block = 0; block < block_max_.size(); ++block) {
    if (block_max_[block] < floor) continue;
    const std::size_t end = std::min((block + 1) * kLogitBlock, logits_.size());
    for (std::size_t i = block * kLogitBlock; i < end; ++i) {
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

void RowWeights::set(std::span<const float> logits, float max, float temperature) {
  logits_ = logits;
  scale_ = {.max = max, .inverse = 1.0F / temperature};
}

std::span<const float> RowWeights::block(std::size_t index) const {
  return block_of(logits_, index);
}

void RowWeights::weigh(std::span<Candidate> kept) const {
  for (Candidate& candidate : kept) candidate.weight = weight_of(candidate.logit, scale_);
}

double RowWeights::add_up() {
  block_sums_.clear();
  total_ = 0;
  for (std::size_t i = 0; i < logit_blocks(logits_.size()); ++i) {
    block_sums_.push_back(weigh_block(block(i), scale_));
    total_ += block_sums_.back();
  }
  return total_;
}

float RowWeights::depth_of(double need) const {
  // exp(-20) of the best is far below what decides a prefix; deeper tokens share one bucket.
  constexpr std::size_t kBuckets = 20 * 64;
  by_depth_.assign(kBuckets + 1, 0);
  const float per_step = scale_.inverse / kDepthStep;
  std::array<float, kLogitBlock> weights;
  for (std::size_t index = 0; index < logit_blocks(logits_.size()); ++index) {
    const std::span<const float> logits = block(index);
    weigh_block(logits, scale_, weights);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const float place = (scale_.max - logits[i]) * per_step;
      const auto bucket = place < float{kBuckets} ? static_cast<std::size_t>(place) : kBuckets;
      by_depth_[bucket] += double{weights[i]};
    }
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
  for (std::size_t i = block * kLogitBlock; i < logits_.size(); ++i) {
    const float weight = weight_of(logits_[i], scale_);
    if (weight == 0) continue;
    last = static_cast<TokenId>(i);
    passed += double{weight};
    if (passed > target) return last;
  }
  for (std::size_t i = block * kLogitBlock; last < 0 && i-- > 0;) {
    if (weight_of(logits_[i], scale_) > 0) last = static_cast<TokenId>(i);
  }
  return last;
}

}  // namespace kantha::exec
