#include "engine/text/detokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/text/utf8.h"
#include "tests/engine/text/tiny_vocabulary.h"

namespace kantha::text {
namespace {

/// Deltas of a text given byte by byte, then the flush.
std::vector<std::string> deltas(const Tokenizer& tokenizer, std::string_view text,
                                std::vector<std::string> stops, bool include_stop = false) {
  Detokenizer detokenizer(tokenizer, std::move(stops), include_stop);
  std::vector<std::string> out;
  for (const char byte : text) {
    out.push_back(detokenizer.push(static_cast<unsigned char>(byte)));
  }
  out.push_back(detokenizer.flush());
  return out;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += part;
  return all;
}

using Parts = std::vector<std::string>;

TEST(Detokenizer, HoldsBackIncompleteUtf8) {
  const Tokenizer tokenizer = TinyVocabulary().build();
  EXPECT_EQ(deltas(tokenizer, "a\xC3\xA9", {}), (Parts{"a", "", "é", ""}));
  EXPECT_EQ(deltas(tokenizer, "\xF0\x9F\x98\x80", {}), (Parts{"", "", "", "😀", ""}));
  EXPECT_EQ(deltas(tokenizer, "x\xE4\xB8", {}), (Parts{"x", "", "", "\uFFFD"}));
  EXPECT_EQ(deltas(tokenizer, "\xFF!", {}), (Parts{"\uFFFD", "!", ""}));
  EXPECT_EQ(deltas(tokenizer, "\xC3!", {}), (Parts{"", "\uFFFD!", ""}));
}

TEST(Detokenizer, HoldsBackWhatMayBecomeAStopString) {
  const Tokenizer tokenizer = TinyVocabulary().build();
  EXPECT_EQ(deltas(tokenizer, "abxy", {"bcd"}), (Parts{"a", "", "bx", "y", ""}));
  EXPECT_EQ(deltas(tokenizer, "abcdz", {"bcd"}), (Parts{"a", "", "", "", "", ""}));
  EXPECT_EQ(deltas(tokenizer, "abcdz", {"bcd"}, true), (Parts{"a", "", "", "bcd", "", ""}));
  EXPECT_EQ(deltas(tokenizer, "abc", {"bcd"}), (Parts{"a", "", "", "bc"}));
  EXPECT_EQ(deltas(tokenizer, "aab", {"ab"}), (Parts{"", "a", "", ""}));
}

TEST(Detokenizer, PicksTheEarliestStartAndThenTheShortest) {
  const Tokenizer tokenizer = TinyVocabulary().build();
  EXPECT_EQ(joined(deltas(tokenizer, "xabcd", {"abc", "ab"}, true)), "xab");
  EXPECT_EQ(joined(deltas(tokenizer, "xabcdey", {"cd", "abcde"})), "x");
  EXPECT_EQ(joined(deltas(tokenizer, "xabcdzy", {"cd", "abcde"})), "xab");
  EXPECT_EQ(joined(deltas(tokenizer, "xabcd", {"cd", "abcde"})), "xab");
  EXPECT_EQ(joined(deltas(tokenizer, "xabcdey", {"cd", "abcde"}, true)), "xabcde");
}

TEST(Detokenizer, SaysThatItStoppedAndThenGivesNothing) {
  TinyVocabulary tiny;
  const TokenId word = tiny.merge("a", "b");
  const TokenId control = tiny.add("<end>", TokenType::kControl);
  const Tokenizer tokenizer = tiny.build();
  Detokenizer detokenizer(tokenizer, {"b"});
  EXPECT_EQ(detokenizer.push(control), "");
  EXPECT_FALSE(detokenizer.stopped());
  EXPECT_EQ(detokenizer.push(word), "a");
  EXPECT_TRUE(detokenizer.stopped());
  EXPECT_EQ(detokenizer.push('z'), "");
  EXPECT_EQ(detokenizer.flush(), "");
}

TEST(Detokenizer, DecidesAWaitingStopStringAtTheEnd) {
  const Tokenizer tokenizer = TinyVocabulary().build();
  Detokenizer detokenizer(tokenizer, {"cd", "abcde"});
  for (const char byte : std::string("abcd")) detokenizer.push(byte);
  EXPECT_FALSE(detokenizer.stopped());
  EXPECT_EQ(detokenizer.flush(), "ab");
  EXPECT_TRUE(detokenizer.stopped());
}

/// What the rules say about a whole text.
std::string whole_text(const std::string& text, const std::vector<std::string>& stops,
                       bool include_stop) {
  std::size_t start = std::string::npos;
  std::size_t length = 0;
  for (const std::string& stop : stops) {
    const std::size_t at = text.find(stop);
    if (at == std::string::npos) continue;
    if (at < start || (at == start && stop.size() < length)) {
      start = at;
      length = stop.size();
    }
  }
  const bool cut = start != std::string::npos;
  std::string valid;
  append_valid_utf8(valid, text.substr(0, cut ? start + (include_stop ? length : 0) : start), true);
  return valid;
}

TEST(Detokenizer, GivesTheSameTextForEverySplitIntoTokens) {
  TinyVocabulary tiny;
  std::vector<TokenId> ids = {'a', 'b', 0xC3, 0xA9, 0xFF, 0xF0, 0x9F};
  for (const char* pair : {"aa", "ab", "ba", "bb"}) {
    ids.push_back(tiny.merge(std::string_view(pair).substr(0, 1), std::string_view(pair + 1)));
  }
  ids.push_back(tiny.add("abaab", TokenType::kNormal));
  ids.push_back(tiny.add("bé", TokenType::kUserDefined));
  ids.push_back(tiny.add("<end>", TokenType::kControl));
  const std::vector<std::string> stop_pool = {"ab", "aab",  "abab", "baa",
                                              "é",  "bébé", "bbbb", "aaaaa"};
  const Tokenizer tokenizer = tiny.build();
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    std::uint64_t counter = 0;
    const auto draw = [&](std::size_t below) { return random_bits(seed, counter++) % below; };
    std::vector<std::string> stops;
    for (std::size_t count = draw(4); count > 0; --count) {
      stops.push_back(stop_pool[draw(stop_pool.size())]);
    }
    const bool include_stop = draw(2) == 1;
    Detokenizer detokenizer(tokenizer, stops, include_stop);
    std::string streamed;
    std::string raw;
    for (std::size_t count = draw(24); count > 0; --count) {
      const TokenId id = ids[draw(ids.size())];
      raw += tokenizer.bytes_of(id);
      const std::string delta = detokenizer.push(id);
      std::string valid;
      append_valid_utf8(valid, delta, true);
      EXPECT_EQ(valid, delta) << "seed " << seed;
      streamed += delta;
    }
    streamed += detokenizer.flush();
    ASSERT_EQ(streamed, whole_text(raw, stops, include_stop)) << "seed " << seed;
  }
}

TEST(Detokenizer, HoldsLittleWhateverTheLengthOfTheText) {
  const Tokenizer tokenizer = TinyVocabulary().build();
  const std::string stop = std::string(1000, 'a') + "b";
  Detokenizer detokenizer(tokenizer, {stop});
  std::size_t shown = 0;
  for (std::size_t i = 1; i <= 300'000; ++i) {
    shown += detokenizer.push('a').size();
    ASSERT_LE(i - shown, 1000u);
  }
  EXPECT_EQ(shown + detokenizer.flush().size(), 300'000u);
}

TEST(DetokenizerDeathTest, ChecksThatStopStringsAreNotEmpty) {
  const Tokenizer tokenizer = TinyVocabulary().build();
  EXPECT_DEATH(Detokenizer(tokenizer, {""}), "empty stop");
}

}  // namespace
}  // namespace kantha::text
