#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace kantha::sched {

/// Log-probability of one candidate under the raw distribution (before temperature and top-p).
struct TokenLogprob {
  TokenId token = 0;
  float logprob = 0;
};

/// How likely a model finds a prompt: for each token but the first its log-probability after those
/// before it, under the raw distribution. Entry i is of token i + 1. Filled row by row; chunks,
/// preemption and neighbours make no difference to the bits.
struct PromptScores {
  PromptScores(std::int32_t prompt_tokens, std::int32_t best_kept)
      : top(best_kept),
        logprobs(static_cast<std::size_t>(prompt_tokens - 1)),
        ranks(logprobs.size()),
        best(logprobs.size() * static_cast<std::size_t>(best_kept)) {}

  std::int32_t size() const { return static_cast<std::int32_t>(logprobs.size()); }
  bool complete() const { return count == size(); }
  /// The best of entry `i`, best first.
  std::span<const TokenLogprob> best_of(std::int32_t i) const {
    const auto width = static_cast<std::size_t>(top);
    return std::span(best).subspan(static_cast<std::size_t>(i) * width, width);
  }

  std::int32_t top = 0;             ///< candidates kept of each
  std::int32_t count = 0;           ///< entries that are there
  std::vector<float> logprobs;      ///< [prompt - 1]; NaN: its row was unusable
  std::vector<std::int32_t> ranks;  ///< [prompt - 1] 1: nothing is more likely
  std::vector<TokenLogprob> best;   ///< [prompt - 1, top]
};

}  // namespace kantha::sched
