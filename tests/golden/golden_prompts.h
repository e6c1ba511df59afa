#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "engine/exec/forward.h"
#include "engine/exec/forward_factory.h"

/// Prompts with a reference's figures (generate.py), and how far a Forward is from them.
namespace kantha::exec {

struct Prompt {
  std::string name;
  std::vector<TokenId> prompt;
  std::vector<TokenId> greedy;
  std::vector<double> logprob;  ///< of greedy[i], reference
  std::vector<double> gap;      ///< to the reference's second best
};

inline constexpr std::int32_t kRowsMax = 256;
inline constexpr std::int32_t kSteps = 48;
inline const ForwardOptions kOptions = {.kv = {.block_size = 16, .block_count = kRowsMax / 16},
                                        .rows_max = kRowsMax,
                                        .logit_rows_max = kSteps};

/// A file of this folder.
inline nlohmann::json read_golden(const std::string& name) {
  const char* root = std::getenv("KANTHA_SOURCE_DIR");
  std::ifstream file(std::string(root == nullptr ? "." : root) + "/tests/golden/" + name);
  return nlohmann::json::parse(file);
}

inline std::vector<Prompt> prompts_of(const nlohmann::json& golden) {
  std::vector<Prompt> prompts;
  for (const auto& entry : golden.at("entries")) {
    prompts.push_back({entry.at("name"), entry.at("prompt"), entry.at("greedy"),
                       entry.at("logprob"), entry.at("gap")});
  }
  return prompts;
}

/// A sequence alone in its Forward: position p lies in slot p.
class Alone {
 public:
  explicit Alone(Forward& forward) : forward_(forward), blocks_(kOptions.kv.block_count) {
    std::iota(blocks_.begin(), blocks_.end(), 0);
  }

  /// Runs `ids` from position `start` on; logits [wanted, vocabulary] of the last `wanted` rows.
  std::vector<float> run(std::span<const TokenId> ids, std::int32_t start, std::int32_t wanted) {
    const auto count = static_cast<std::int32_t>(ids.size());
    std::vector<std::int32_t> positions(ids.size());
    std::iota(positions.begin(), positions.end(), start);
    std::vector<std::int32_t> logit_rows(static_cast<std::size_t>(wanted));
    std::iota(logit_rows.begin(), logit_rows.end(), count - wanted);
    const std::int32_t row_starts[] = {0, count};
    std::vector<float> logits(static_cast<std::size_t>(wanted) *
                              static_cast<std::size_t>(forward_.vocabulary_size()));
    forward_.run({.token_ids = ids,
                  .positions = positions,
                  .slots = positions,
                  .row_starts = row_starts,
                  .block_tables = blocks_,
                  .block_table_stride = kOptions.kv.block_count,
                  .logit_rows = logit_rows},
                 logits);
    return logits;
  }

 private:
  Forward& forward_;
  std::vector<BlockId> blocks_;
};

inline TokenId best_of(std::span<const float> logits) {
  return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
}

inline double logprob_of(std::span<const float> logits, TokenId token) {
  const double highest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - highest);
  return logits[static_cast<std::size_t>(token)] - highest - std::log(sum);
}

/// How far a path was from the reference.
struct Errors {
  double sum = 0;
  double largest = 0;
  std::int64_t positions = 0;
  std::int64_t other_best = 0;  ///< positions where our best token is another
  double other_best_gap = 0;    ///< largest reference gap among them
  std::string worst_prompt;

  double mean() const { return sum / static_cast<double>(positions); }
};

inline void compare(Forward& forward, const Prompt& prompt, Errors& errors) {
  std::vector<TokenId> ids = prompt.prompt;
  ids.insert(ids.end(), prompt.greedy.begin(), prompt.greedy.end() - 1);
  ASSERT_LE(std::ssize(ids), kRowsMax) << prompt.name;
  ASSERT_EQ(std::ssize(prompt.greedy), kSteps) << prompt.name;
  const std::vector<float> logits = Alone(forward).run(ids, 0, kSteps);
  const auto vocabulary = static_cast<std::size_t>(forward.vocabulary_size());
  for (std::size_t i = 0; i < prompt.greedy.size(); ++i) {
    const auto row = std::span(logits).subspan(i * vocabulary, vocabulary);
    const double error = std::fabs(logprob_of(row, prompt.greedy[i]) - prompt.logprob[i]);
    errors.sum += error;
    errors.positions += 1;
    if (!(error <= errors.largest)) {
      errors.largest = error;
      errors.worst_prompt = prompt.name;
    }
    if (best_of(row) == prompt.greedy[i]) continue;
    errors.other_best += 1;
    errors.other_best_gap = std::max(errors.other_best_gap, prompt.gap[i]);
  }
}

}  // namespace kantha::exec
