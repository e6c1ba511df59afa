#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/model/load_model.h"
#include "engine/text/tokenizer.h"
#include "tests/engine/text/text_vectors.h"

namespace kantha::text {
namespace {

using Ids = std::vector<TokenId>;

/// The tokenizer of the test model's file.
const Tokenizer& model_tokenizer() {
  static const Tokenizer tokenizer = [] {
    const char* path = std::getenv("KANTHA_TEST_MODEL");
    CHECK(path != nullptr, "KANTHA_TEST_MODEL names the test model");
    Result<model::LoadedModel> loaded = model::load_model(path);
    CHECK(loaded.ok(), "the test model loads; scripts/fetch-model brings it");
    Result<Tokenizer> built = Tokenizer::build(loaded.value().vocabulary);
    CHECK(built.ok(), "the test model has a tokenizer that we know");
    return std::move(built).value();
  }();
  return tokenizer;
}

TEST(TokenizerOfTheModel, GivesTheReferencesIds) {
  const Json vectors = read_vectors("tokenizer_vectors.json");
  ASSERT_GT(vectors["plain"].size(), 300u);
  for (const Json& row : vectors["plain"]) {
    EXPECT_EQ(model_tokenizer().encode(row[0].get<std::string>(), false), row[1].get<Ids>())
        << row[0];
  }
  for (const Json& row : vectors["special"]) {
    EXPECT_EQ(model_tokenizer().encode(row[0].get<std::string>(), true), row[1].get<Ids>())
        << row[0];
  }
}

TEST(TokenizerOfTheModel, EndsAtItsTwoEndTokens) {
  const auto ends = model_tokenizer().end_tokens();
  EXPECT_EQ(Ids(ends.begin(), ends.end()), (Ids{0, 2}));
}

/// The best of a few runs, because the machine has other work.
double encode_seconds(const std::string& text) {
  double best = 1e9;
  for (int run = 0; run < 9; ++run) {
    const TimePoint start = system_clock().now();
    EXPECT_FALSE(model_tokenizer().encode(text, false).empty());
    const auto spent = std::chrono::duration<double>(system_clock().now() - start);
    best = std::min(best, spent.count());
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
    // Two doublings of at most 2.5 each; quadratic time would be 16 times.
    EXPECT_LT(full, 2.5 * 2.5 * quarter + 0.005) << unit;
  }
}

}  // namespace
}  // namespace kantha::text
