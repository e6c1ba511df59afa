#include "engine/text/word_splitter.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/engine/text/text_vectors.h"

namespace kantha::text {
namespace {

std::vector<std::string> words(WordRules rules, std::string_view text) {
  std::vector<std::string> out;
  std::size_t start = 0;
  for (const std::size_t end : split_words(rules, text)) {
    out.emplace_back(text.substr(start, end - start));
    start = end;
  }
  EXPECT_EQ(start, text.size());
  return out;
}

using Words = std::vector<std::string>;

TEST(WordSplitter, GivesTheWordsOfThePublishedPatterns) {
  const OrderedJson vectors = read_vectors("tokenizer_vectors.json");
  ASSERT_GT(vectors["words"].size(), 500u);
  for (const OrderedJson& row : vectors["words"]) {
    const auto rules = word_rules(row[0].get<std::string>());
    ASSERT_TRUE(rules.has_value()) << row[0];
    const auto text = row[1].get<std::string>();
    std::vector<std::size_t> lengths;
    for (const std::string& word : words(*rules, text)) lengths.push_back(word.size());
    EXPECT_EQ(lengths, row[2].get<std::vector<std::size_t>>()) << row[0] << " " << row[1];
  }
}

TEST(WordSplitter, SmollmCutsDigitsOneByOneAndLetsBlanksBeforeThemGoTogether) {
  EXPECT_EQ(words(WordRules::kSmollm, "a  12 b"), (Words{"a", "  ", "1", "2", " b"}));
  EXPECT_EQ(words(WordRules::kSmollm, "x½'s"), (Words{"x", "½", "'s"}));
}

TEST(WordSplitter, TreatsABadByteAsOneSign) {
  EXPECT_EQ(words(WordRules::kGpt2,
                  "ab\xFF\xFE"
                  "cd"),
            (Words{"ab", "\xFF\xFE", "cd"}));
  EXPECT_EQ(words(WordRules::kGpt2, "a \xC3"), (Words{"a", " \xC3"}));
  EXPECT_EQ(words(WordRules::kGpt2, "\xED\xA0\x80!"), (Words{"\xED\xA0\x80!"}));
  EXPECT_EQ(words(WordRules::kDefault, "a\xFF!"), (Words{"a", "\xFF", "!"}));
}

TEST(WordSplitter, KnowsItsNamesAndNoOthers) {
  EXPECT_EQ(word_rules("smollm"), WordRules::kSmollm);
  EXPECT_EQ(word_rules("gpt-2"), WordRules::kGpt2);
  EXPECT_FALSE(word_rules("").has_value());
  EXPECT_FALSE(word_rules("tekken").has_value());
}

TEST(WordSplitter, EndsWithOneCutForEndlessRunsOfOneKind) {
  for (const WordRules rules : {WordRules::kGpt2, WordRules::kSmollm, WordRules::kDefault,
                                WordRules::kLlamaBpe, WordRules::kQwen2}) {
    EXPECT_EQ(split_words(rules, std::string(1'000'000, ' ')).size(), 1u);
    EXPECT_EQ(split_words(rules, std::string(1'000'000, 'x')).size(), 1u);
    EXPECT_EQ(split_words(rules, std::string(1'000'000, '_')).size(), 1u);
    EXPECT_EQ(split_words(rules, std::string(1'000'000, '\n') + "x").size(),
              rules == WordRules::kLlamaBpe || rules == WordRules::kQwen2 ? 2u : 3u);
  }
}

}  // namespace
}  // namespace kantha::text
