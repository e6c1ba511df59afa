#include "engine/exec/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/rng.h"

namespace kantha::exec {
namespace {

constexpr float kGreedyBelow = 1e-5F;
/// Draws that are cut before what is kept is put together.
constexpr std::uint64_t kRetries = 3;
constexpr char kForbidden[] =
    "allowed_token_ids, bad_words, min_tokens and what the answer must look like leave no token "
    "that could come next";
constexpr float kNothing = -std::numeric_limits<float>::infinity();

}  // namespace

bool is_greedy(const sched::SamplingParams& sampling) {
  return sampling.temperature < kGreedyBelow;
}

float inverse_sum_temperature(const sched::SamplingParams& sampling) {
  // The best k, and what min_p leaves, are found in a few blocks without any sums.
  const bool few =
      sampling.top_k > 0 || ((sampling.min_p > 0 || sampling.typical_p < 1) && sampling.top_p >= 1);
  if (is_greedy(sampling) || few) return sampling.logprobs >= 0 ? 1.0F : 0.0F;
  return 1.0F / sampling.temperature;
}

sched::SampledToken Sampler::sample(const LogitRow& row, const sched::SamplingParams& sampling,
                                    const DrawPoint& point) {
  sched::SampledToken result;
  std::optional<std::string> broken = scan_.scan(row.logits, row.maxima);
  if (!broken && sampling.logprobs >= 0) {
    const bool given = inverse_sum_temperature(sampling) == 1.0F;
    take_logprobs(given ? row.sums : std::span<const float>{},
                  static_cast<std::size_t>(sampling.logprobs));
  }
  std::span<const float> raw = row.logits;
  if (!broken && !point.edits.empty()) {
    if (sampling.logprobs >= 0) {
      raw_.assign(raw.begin(), raw.end());
      raw = raw_;
    }
    broken = scan_.look_again(editor_.edit(row.logits, point.edits));
    result.forbidden = broken && scan_.max() == kNothing;
    if (result.forbidden) broken = kForbidden;
  }
  if (broken) {
    result.error = std::move(*broken);
    return result;
  }
  result.token = is_greedy(sampling) ? scan_.argmax() : draw(row, sampling, point.position);
  if (sampling.logprobs >= 0) {
    const double logit = double{raw[static_cast<std::size_t>(result.token)]};
    result.logprob = static_cast<float>(logit - log_sum_);
    result.top_logprobs = std::exchange(top_, {});
  }
  return result;
}

void Sampler::score(const LogitRow& row, TokenId token, sched::PromptScores& scores,
                    std::size_t place) {
  if (scan_.scan(row.logits, row.maxima)) {
    scores.logprobs[place] = std::numeric_limits<float>::quiet_NaN();
    return;
  }
  const auto width = static_cast<std::size_t>(scores.top);
  take_logprobs(row.sums, width);
  const float logit = row.logits[static_cast<std::size_t>(token)];
  scores.logprobs[place] = static_cast<float>(double{logit} - log_sum_);
  scores.ranks[place] = static_cast<std::int32_t>(scan_.count_above(logit)) + 1;
  // A vocabulary may have fewer than were asked for.
  top_.resize(width);
  std::ranges::copy(top_, scores.best.begin() + static_cast<std::ptrdiff_t>(place * width));
}

/// The sum of the scanned row and its best `count` tokens. `sums` are at temperature 1.
void Sampler::take_logprobs(std::span<const float> sums, std::size_t count) {
  weights_.set(scan_, 1.0F);
  log_sum_ = double{scan_.max()} + std::log(weights_.add_up(sums));
  scan_.best(count, kept_);
  std::ranges::sort(kept_, &Candidate::better_than);
  top_.clear();
  for (const Candidate& candidate : kept_) {
    top_.push_back({.token = candidate.token,
                    .logprob = static_cast<float>(double{candidate.logit} - log_sum_)});
  }
}

bool Sampler::cuts_to_top_k(const sched::SamplingParams& sampling) const {
  return sampling.top_k > 0 && static_cast<std::size_t>(sampling.top_k) < scan_.logits().size();
}

TokenId Sampler::draw(const LogitRow& row, const sched::SamplingParams& sampling,
                      std::uint64_t position) {
  const double unit = random_unit(sampling.seed, position);
  weights_.set(scan_, sampling.temperature);
  const bool by_depth = (sampling.min_p > 0 || sampling.typical_p < 1) && sampling.top_p >= 1;
  if (cuts_to_top_k(sampling) || by_depth) return draw_from_kept(sampling, unit);
  // Sums are at this temperature, or top_k is beyond the vocabulary.
  const bool given = inverse_sum_temperature(sampling) == 1.0F / sampling.temperature;
  const double total = weights_.add_up(given ? row.sums : std::span<const float>{});
  // The best token alone, whose weight is 1, is enough.
  if (double{sampling.top_p} * total <= 1) return scan_.argmax();
  if (sampling.typical_p < 1) return draw_from_kept(sampling, unit);
  TokenId token = weights_.token_at(unit * total);
  const std::uint64_t retries = random_bits(~sampling.seed, position);
  for (std::uint64_t i = 0; !keeps(token, sampling); ++i) {
    const double again = random_unit(retries, i);
    if (i == kRetries) return draw_from_kept(sampling, again);
    token = weights_.token_at(again * total);
  }
  return token;
}

/// After add_up: not cut by truncation.
bool Sampler::keeps(TokenId token, const sched::SamplingParams& sampling) const {
  if (sampling.min_p > 0 && weights_.of(token) < sampling.min_p) return false;
  if (sampling.top_p >= 1) return true;
  const double need = double{sampling.top_p} * weights_.total();
  return weights_.better_than(token, need) < need;
}

TokenId Sampler::draw_from_kept(const sched::SamplingParams& sampling, double unit) {
  if (cuts_to_top_k(sampling)) {
    scan_.best(static_cast<std::size_t>(sampling.top_k), kept_);
    weights_.weigh(kept_);
    if (sampling.top_p < 1) keep_top_p(double{sampling.top_p} * mass(0, kept_.size()), 0);
  } else if (sampling.top_p < 1) {
    keep_top_p_of_all(sampling);
  } else {
    // exp(-92) is below the smallest weight that is kept.
    const float depth = std::min(92.0F, -std::log(sampling.min_p) + 0.01F);
    keep_above(scan_.max() - depth * sampling.temperature);
  }
  std::erase_if(kept_,
                [&](const Candidate& candidate) { return candidate.weight < sampling.min_p; });
  if (sampling.typical_p < 1) keep_typical(double{sampling.typical_p});
  return draw_kept(unit);
}

void Sampler::keep_above(float floor) {
  scan_.above(floor, kept_);
  weights_.weigh(kept_);
}

void Sampler::keep_top_p_of_all(const sched::SamplingParams& sampling) {
  const double need = double{sampling.top_p} * weights_.total();
  const auto logit_at = [&](float deep) { return scan_.max() - deep * sampling.temperature; };
  // A peaked row has its mass in a few tokens within some units of the best logit.
  constexpr float kPeak = 8;
  constexpr std::size_t kFew = 2048;
  keep_above(logit_at(kPeak));
  if (kept_.size() <= kFew && mass(0, kept_.size()) >= need) return keep_top_p(need, 0);
  const float depth = weights_.depth_of(need);
  keep_above(logit_at(depth + RowWeights::kDepthStep));
  if (mass(0, kept_.size()) < need) keep_above(kNothing);
  // Nearly all of these are in: only the rim has to be put in order.
  const float sure = logit_at(depth - 2 * RowWeights::kDepthStep);
  const auto rim = std::partition(kept_.begin(), kept_.end(),
                                  [&](const Candidate& it) { return it.logit > sure; });
  const auto begin = static_cast<std::size_t>(rim - kept_.begin());
  keep_top_p(need, mass(0, begin) < need ? begin : 0);
}

double Sampler::mass(std::size_t begin, std::size_t end) const {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += double{kept_[i].weight};
  return sum;
}

/// Cuts kept_ to its shortest best-first prefix that weighs `need`: halving around the median
/// instead of sorting, so that a flat row costs a few passes.
/// The first `begin` are known to be in, weigh less and are better than the rest.
void Sampler::keep_top_p(double need, std::size_t begin) {
  std::size_t low = begin;
  std::size_t high = kept_.size();
  double before = mass(0, begin);
  const auto at = [&](std::size_t i) { return kept_.begin() + static_cast<std::ptrdiff_t>(i); };
  while (high - low > 32) {
    const std::size_t middle = low + (high - low) / 2;
    std::ranges::nth_element(at(low), at(middle), at(high), &Candidate::better_than);
    const double half = mass(low, middle);
    if (before + half >= need) {
      high = middle;
    } else {
      before += half;
      low = middle;
    }
  }
  std::ranges::sort(at(low), at(high), &Candidate::better_than);
  while (low < high && before < need) before += double{kept_[low++].weight};
  kept_.resize(std::max<std::size_t>(low, 1));
}

void Sampler::keep_typical(double typical_p) {
  std::erase_if(kept_, [](const Candidate& candidate) { return candidate.weight == 0; });
  const double total = mass(0, kept_.size());
  const auto surprise = [&](const Candidate& candidate) {
    return -std::log(double{candidate.weight} / total);
  };
  double entropy = 0;
  for (const Candidate& candidate : kept_) {
    entropy += double{candidate.weight} / total * surprise(candidate);
  }
  // From here on "better" is nearer to the entropy; the draw needs weights only.
  for (Candidate& candidate : kept_) {
    candidate.logit = -static_cast<float>(std::abs(surprise(candidate) - entropy));
  }
  keep_top_p(typical_p * total, 0);
}

TokenId Sampler::draw_kept(double unit) const {
  const double target = unit * mass(0, kept_.size());
  double passed = 0;
  TokenId last = kept_.front().token;
  for (const Candidate& candidate : kept_) {
    const double weight = double{candidate.weight};
    if (weight == 0) continue;
    last = candidate.token;
    passed += weight;
    if (passed > target) break;
  }
  return last;
}

}  // namespace kantha::exec
