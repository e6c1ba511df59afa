#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include "engine/text/tokenizer.h"
#include "tests/engine/text/encoding_digests.h"
#include "tests/engine/text/model_tokenizer.h"
#include "tests/engine/text/text_vectors.h"

namespace kantha::text {
namespace {

using Ids = std::vector<TokenId>;

TEST(TokenizerOfTheModel, GivesTheReferencesIds) {
  const OrderedJson vectors = read_vectors("tokenizer_vectors.json");
  ASSERT_GT(vectors["plain"].size(), 300u);
  for (const OrderedJson& row : vectors["plain"]) {
    EXPECT_EQ(model_tokenizer().encode(row[0].get<std::string>(), false), row[1].get<Ids>())
        << row[0];
  }
  for (const OrderedJson& row : vectors["special"]) {
    EXPECT_EQ(model_tokenizer().encode(row[0].get<std::string>(), true), row[1].get<Ids>())
        << row[0];
  }
}

TEST(TokenizerOfTheModel, GivesTheReferencesIdsOfTwentyThousandGeneratedTexts) {
  expect_reference_ids(model_tokenizer(), "smollm2");
}

TEST(TokenizerOfTheModel, EndsAtItsTwoEndTokens) {
  const auto ends = model_tokenizer().end_tokens();
  EXPECT_EQ(Ids(ends.begin(), ends.end()), (Ids{0, 2}));
}

/// Processor time, the best of some runs, because the machine has other work.
double encode_seconds(const std::string& text) {
  double best = 1e9;
  for (int run = 0; run < 15; ++run) {
    const std::clock_t start = std::clock();
    EXPECT_FALSE(model_tokenizer().encode(text, false).empty());
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

TEST(TokenizerOfTheModel, TakesNearLinearTimeForOneEndlessWord) {
  for (const std::string unit : {"_", "a", " ", "=", "é", "xyzzy"}) {
    std::string text;
    while (text.size() < 20'000) text += unit;
    const double quarter = encode_seconds(text);
    text += text;
    text += text;
    const double full = encode_seconds(text);
    std::cout << "20k and 80k bytes of \"" << unit << "\": " << quarter << ", " << full << " s\n";
    EXPECT_LT(full, 1.0) << unit;
    // Two doublings of at most 2.5 each, and what a busy machine's caches cost; quadratic time
    // would be seconds.
    EXPECT_LT(full, 2.5 * 2.5 * quarter + 0.02) << unit;
  }
}

}  // namespace
}  // namespace kantha::text
