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
  changed_blocks_.clear();
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

std::optional<std::string> RowScan::look_again(std::span<const std::size_t> blocks) {
  changed_blocks_.assign(blocks.begin(), blocks.end());
  for (const std::size_t i : blocks) block_max_[i] = block_maximum(block_of(logits_, i));
  return judge();
}

TokenId RowScan::argmax() const {
  const std::size_t block = first_equal(block_max_, max_);
  return static_cast<TokenId>(block * kLogitBlock + first_equal(block_of(logits_, block), max_));
}

std::size_t RowScan::count_above(float logit) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < block_max_.size(); ++i) {
    if (block_max_[i] > logit) count += exec::count_above(block_of(logits_, i), logit);
  }
  return count;
}

void RowScan::above(float floor, std::vector<Candidate>& kept) const {
  kept.clear();
  constexpr std::size_t kRun = 32;  // tokens that are looked at together
  const float below = std::nextafter(floor, kNothing);
  for (std::size_t block = 0; block < block_max_.size(); ++block) {
    if (block_max_[block] < floor) continue;
    const std::size_t end = std::min((block + 1) * kLogitBlock, logits_.size());
    for (std::size_t start = block * kLogitBlock; start < end; start += kRun) {
      const auto run = logits_.subspan(start, std::min(kRun, end - start));
      if (exec::count_above(run, below) == 0) continue;
      for (std::size_t i = start; i < start + run.size(); ++i) {
        if (logits_[i] >= floor && logits_[i] > kNothing) {
          kept.push_back({.logit = logits_[i], .token = static_cast<TokenId>(i)});
        }
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

void RowWeights::set(const RowScan& scan, float temperature) {
  scan_ = &scan;
  scale_ = {.max = scan.max(), .inverse = 1.0F / temperature};
}

void RowWeights::weigh(std::span<Candidate> kept) const {
  std::array<float, kLogitBlock> weights;
  for (std::size_t start = 0; start < kept.size(); start += weights.size()) {
    const auto run = kept.subspan(start, std::min(weights.size(), kept.size() - start));
    const auto of_run = std::span(weights).first(run.size());
    std::ranges::transform(run, of_run.begin(), &Candidate::logit);
    weigh_block(of_run, scale_, of_run);
    for (std::size_t i = 0; i < run.size(); ++i) run[i].weight = of_run[i];
  }
}

double RowWeights::add_up(std::span<const float> sums) {
  const std::span<const float> maxima = scan_->maxima();
  CHECK(sums.empty() || sums.size() == maxima.size(), "a sum for each block");
  block_scales_.resize(maxima.size());
  weigh_block(maxima, scale_, block_scales_);
  masses_.resize(maxima.size());
  const auto set = [&](std::size_t i, float sum) {
    masses_[i] = double{block_scales_[i]} * double{sum};
  };
  const auto compute = [&](std::size_t i) {
    set(i, block_weight(block_of(scan_->logits(), i), maxima[i], scale_.inverse));
  };
  if (sums.empty()) {
    for (std::size_t i = 0; i < maxima.size(); ++i) compute(i);
  } else {
    for (std::size_t i = 0; i < maxima.size(); ++i) set(i, sums[i]);
    for (const std::size_t i : scan_->changed_blocks()) compute(i);
  }
  total_ = 0;
  for (const double mass : masses_) total_ += mass;
  return total_;
}

double RowWeights::better_than(TokenId token, double limit) const {
  double sum = 0;
  for_each_better(*scan_, token, [&](std::span<const float> logits, float floor) {
    sum += double{weigh_above(logits, scale_, floor)};
    return sum < limit;
  });
  return std::min(sum, limit);
}

float RowWeights::depth_of(double need) const {
  // exp(-20) of the best is far below what decides a prefix; deeper tokens share one bucket.
  constexpr std::size_t kBuckets = 20 * 64;
  by_depth_.assign(kBuckets + 1, 0);
  const float per_step = scale_.inverse / kDepthStep;
  std::array<float, kLogitBlock> weights;
  for (std::size_t index = 0; index < scan_->maxima().size(); ++index) {
    const std::span<const float> logits = block_of(scan_->logits(), index);
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
  std::size_t last = 0;
  for (std::size_t i = 0; i < masses_.size(); ++i) {
    if (masses_[i] == 0) continue;
    last = i;
    if (passed + masses_[i] > target) break;
    passed += masses_[i];
  }
  // Rounding may leave the target just behind the last weight: then the last possible token it is.
  return token_in(last, (target - passed) / double{block_scales_[last]});
}

/// As token_at, in weights measured from the block's maximum.
TokenId RowWeights::token_in(std::size_t block, double target) const {
  const std::span<const float> logits = block_of(scan_->logits(), block);
  std::array<float, kLogitBlock> weights;
  weigh_block(logits, {.max = scan_->maxima()[block], .inverse = scale_.inverse}, weights);
  double passed = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (weights[i] == 0) continue;
    last = i;
    passed += double{weights[i]};
    if (passed > target) break;
  }
  return static_cast<TokenId>(block * kLogitBlock + last);
}

}  // namespace kantha::exec
