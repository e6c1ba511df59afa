#include "engine/text/word_splitter.h"

#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <string>
#include <utility>

#include "engine/text/pre_tokenizers.h"
#include "tests/engine/text/text_vectors.h"

namespace kantha::text {
namespace {

const WordSplitter& splitter(std::string_view name) {
  static std::map<std::string, WordSplitter, std::less<>> made;
  const auto found = made.find(name);
  if (found != made.end()) return found->second;
  auto built = WordSplitter::build(pre_tokenizer(name).value().splits);
  CHECK(built.ok(), built.ok() ? "" : built.error().message.c_str());
  return made.emplace(name, std::move(built).value()).first->second;
}

std::vector<std::string> words(const WordSplitter& splitter, std::string_view text) {
  std::vector<std::string> out;
  std::size_t start = 0;
  for (const std::size_t end : splitter.split(text)) {
    EXPECT_LT(start, end);
    out.emplace_back(text.substr(start, end - start));
    start = end;
  }
  EXPECT_EQ(start, text.size());
  return out;
}

std::vector<std::string> words(std::string_view name, std::string_view text) {
  return words(splitter(name), text);
}

using Words = std::vector<std::string>;

TEST(WordSplitter, GivesTheWordsOfThePublishedPatterns) {
  const OrderedJson vectors = read_vectors("tokenizer_vectors.json");
  ASSERT_GT(vectors["words"].size(), 500u);
  for (const OrderedJson& row : vectors["words"]) {
    const auto text = row[1].get<std::string>();
    std::vector<std::size_t> lengths;
    for (const std::string& word : words(row[0].get<std::string>(), text)) {
      lengths.push_back(word.size());
    }
    EXPECT_EQ(lengths, row[2].get<std::vector<std::size_t>>()) << row[0] << " " << row[1];
  }
}

struct SplitCase {
  const char* pre;
  const char* text;
  Words words;
};

TEST(WordSplitter, KnowsWhatSetsThePreTokenizersApart) {
  const SplitCase cases[] = {
      {"smollm", "a  12 b", {"a", "  ", "1", "2", " b"}},
      {"smollm", "x½'s", {"x", "½", "'s"}},
      {"gpt-2", "a  12 b", {"a", " ", " 12", " b"}},
      {"falcon", "a`b 12345", {"a", "`", "b", " ", "123", "45"}},
      {"llama-bpe", "1234567 DON'T", {"123", "456", "7", " DON", "'T"}},
      {"qwen2", "12 don't", {"1", "2", " don", "'t"}},
      {"qwen35", "e\u0301x", {"e\u0301x"}},
      {"qwen2", "e\u0301x", {"e", "\u0301x"}},
      {"seed-coder", "!\n", {"!", "\n"}},
      {"ufakzeka", "Ali'den", {"Ali", "'den"}},
      {"bailingmoe", "I'd 12\n", {"I", "'d", " ", "1", "2", "\n"}},
      {"tekken", "camelCase HTTPServer 12", {"camel", "Case", " HTTPServer", " ", "1", "2"}},
      {"gpt-4o", "camelCase don't 1234", {"camel", "Case", " don't", " ", "123", "4"}},
      {"tiny_aya", "12345 123a", {"12", "345", " ", "123", "a"}},
      {"superbpe", "a1234567b c", {"a", "1", "234", "567", "b c"}},
      {"afmoe", "1234 ab", {"1", "234", " ab"}},
      {"kimi-k2", "中文abc漢", {"中文", "abc", "漢"}},
      {"gpt-4o", "中文abc漢", {"中文abc漢"}},
      {"deepseek-llm", "a 中b  5", {"a", " ", "中", "b", "  ", "5"}},
      {"deepseek-coder", "x 12", {"x", " ", "1", "2"}},
      {"deepseek-v3", "1234 日本x <b>", {"123", "4", " ", "日本", "x", " <", "b", ">"}},
      {"bloom", "a b, c", {"a", " b", ",", " c"}},
      {"viking", "a12, c", {"a", "1", "2", ",", " c"}},
      {"chameleon", "a    b!", {"a", "    ", "b", "!"}},
      {"jais-2", "     x", {"    ", " x"}},
      {"laguna", "a\n\nb", {"a", "\n\n", "b"}},
      {"exaone-moe", "ab cd 1", {"ab cd", " ", "1"}},
      {"minicpm5", "1234 a", {"123", "4", " a"}},
      {"youtu", "한국어abc ㄅ。", {"한국어", "abc", " ", "ㄅ", "。"}},
      {"spark2_5", "a!\n\n", {"a", "!", "\n", "\n"}},
  };
  for (const SplitCase& row : cases) {
    EXPECT_EQ(words(row.pre, row.text), row.words) << row.pre << ": " << row.text;
  }
}

TEST(WordSplitter, TreatsABadByteAsOneSign) {
  EXPECT_EQ(words("gpt-2",
                  "ab\xFF\xFE"
                  "cd"),
            (Words{"ab", "\xFF\xFE", "cd"}));
  EXPECT_EQ(words("gpt-2", "a \xC3"), (Words{"a", " \xC3"}));
  EXPECT_EQ(words("gpt-2", "\xED\xA0\x80!"), (Words{"\xED\xA0\x80!"}));
  EXPECT_EQ(words("default", "a\xFF!"), (Words{"a", "\xFF", "!"}));
}

TEST(WordSplitter, RefusesAnUnknownNameWithTheListOfKnownOnes) {
  const auto unknown = pre_tokenizer("llama-bqe");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::kUnimplemented);
  EXPECT_NE(unknown.error().message.find("\"llama-bqe\""), std::string::npos);
  EXPECT_NE(unknown.error().message.find("smollm, "), std::string::npos);
  EXPECT_FALSE(pre_tokenizer("").ok());
}

/// Processor seconds for a text; also checks that words cover it.
double split_seconds(const WordSplitter& splitter, const std::string& text) {
  const std::clock_t start = std::clock();
  EXPECT_EQ(splitter.split(text).back(), text.size());
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

TEST(WordSplitter, TakesAMegabyteOfOneKindOfSignInLinearTimeForEveryName) {
  constexpr std::size_t kBytes = 1'000'000;
  std::vector<std::string> texts;
  for (const std::string unit : {" ", "x", "X", "_", "7", "\n", "é", "中", "\u0301", "\xFF"}) {
    std::string text;
    while (text.size() < kBytes) text += unit;
    texts.push_back(text + "5");
  }
  std::map<std::vector<std::string>, std::string_view> seen;
  for (const std::string_view name : pre_tokenizer_names()) {
    if (!seen.emplace(pre_tokenizer(name).value().splits, name).second) continue;
    for (const std::string& text : texts) {
      // Quadratic time would be minutes; an honest run is some hundredths of a second.
      EXPECT_LT(split_seconds(splitter(name), text), 2.0) << name << ": " << text.substr(0, 6);
    }
  }
  EXPECT_GT(seen.size(), 25u);
}

}  // namespace
}  // namespace kantha::text
