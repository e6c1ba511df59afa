#include "engine/sched/token_counts.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "base/rng.h"

namespace kantha::sched {
namespace {

using Counts = std::map<TokenId, std::pair<std::int32_t, std::int32_t>>;

Counts all_of(const TokenCounts& counts) {
  Counts all;
  for (const TokenCounts::Entry& entry : counts.entries()) {
    const bool fresh = all.emplace(entry.token, std::pair(entry.in_prompt, entry.in_output)).second;
    EXPECT_TRUE(fresh) << "token " << entry.token << " twice";
  }
  return all;
}

TEST(TokenCounts, PromptAndOutputAreCountedApart) {
  TokenCounts counts;
  const std::vector<TokenId> tokens{5, 5, 7, 5, 9};
  counts.follow(tokens, 3, /*with_prompt=*/true);
  EXPECT_EQ(all_of(counts), (Counts{{5, {2, 1}}, {7, {1, 0}}, {9, {0, 1}}}));
  TokenCounts output_only;
  output_only.follow(tokens, 3, /*with_prompt=*/false);
  EXPECT_EQ(all_of(output_only), (Counts{{5, {0, 1}}, {9, {0, 1}}}));
}

TEST(TokenCounts, HoweverASequenceGrewTheCountsAreTheSame) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<TokenId> tokens;
    for (std::uint64_t i = 0; i < 500; ++i) {
      tokens.push_back(static_cast<TokenId>(random_bits(seed, i) % (seed * 20)));
    }
    const auto prompt = static_cast<std::int32_t>(seed * 9);
    const bool with_prompt = seed % 2 == 0;
    TokenCounts stepwise;
    for (std::size_t end = static_cast<std::size_t>(prompt); end <= tokens.size(); ++end) {
      stepwise.follow(std::span(tokens).first(end), prompt, with_prompt);
    }
    TokenCounts at_once;
    at_once.follow(tokens, prompt, with_prompt);
    Counts plain;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool in_prompt = std::cmp_less(i, prompt);
      if (in_prompt && !with_prompt) continue;
      ++(in_prompt ? plain[tokens[i]].first : plain[tokens[i]].second);
    }
    EXPECT_EQ(all_of(at_once), plain);
    EXPECT_EQ(all_of(stepwise), plain);
  }
}

}  // namespace
}  // namespace kantha::sched
