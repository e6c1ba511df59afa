#include "engine/text/tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/engine/text/tiny_vocabulary.h"

namespace kantha::text {
namespace {

using Ids = std::vector<TokenId>;

TEST(Tokenizer, MergesTheLowestRankFirstAndTheLeftmostAmongEquals) {
  TinyVocabulary tiny;
  const TokenId bc = tiny.merge("b", "c");
  const TokenId ab = tiny.merge("a", "b");
  const TokenId aa = tiny.merge("a", "a");
  const Tokenizer tokenizer = tiny.build();
  EXPECT_EQ(tokenizer.encode("abc", false), (Ids{'a', bc}));
  EXPECT_EQ(tokenizer.encode("ab", false), (Ids{ab}));
  EXPECT_EQ(tokenizer.encode("aaa", false), (Ids{aa, 'a'}));
  EXPECT_EQ(tokenizer.encode("", false), Ids{});
}

TEST(Tokenizer, DoesNotMergeAcrossWords) {
  TinyVocabulary tiny;
  tiny.merge("a", " ");
  const TokenId blank_b = tiny.merge(" ", "b");
  EXPECT_EQ(tiny.build().encode("a b", false), (Ids{'a', blank_b}));
}

TEST(Tokenizer, RoundTripsEveryByteAlsoThoseThatAreNotUtf8) {
  const Tokenizer tokenizer = TinyVocabulary("smollm").build();
  std::string all;
  for (int i = 0; i < 512; ++i) all.push_back(static_cast<char>(i * 7));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(all, false), false), all);
}

TEST(Tokenizer, LeavesOutBytesThatTheVocabularyLacks) {
  TinyVocabulary tiny;
  tiny.plain().tokens[0x7F] = "something else";
  tiny.plain().unknown = 5;
  EXPECT_EQ(tiny.build().encode("a\x7F"
                                "b",
                                false),
            (Ids{'a', 'b'}));
}

TEST(Tokenizer, FindsControlTokensOnlyWhereItIsTold) {
  TinyVocabulary tiny;
  const TokenId end = tiny.add("<end>", TokenType::kControl);
  const TokenId longer = tiny.add("<end>>", TokenType::kControl);
  const Tokenizer tokenizer = tiny.build();
  EXPECT_EQ(tokenizer.encode("a<end>", true), (Ids{'a', end}));
  EXPECT_EQ(tokenizer.encode("<end>>", true), (Ids{longer}));
  EXPECT_EQ(tokenizer.encode("<<end><en", true), (Ids{'<', end, '<', 'e', 'n'}));
  EXPECT_EQ(tokenizer.encode("<end>", false), (Ids{'<', 'e', 'n', 'd', '>'}));
}

TEST(Tokenizer, FindsUserDefinedTokensEverywhereAndReadsThemAsTheyAre) {
  TinyVocabulary tiny;
  const TokenId think = tiny.add("<é >", TokenType::kUserDefined);
  const Tokenizer tokenizer = tiny.build();
  EXPECT_EQ(tokenizer.encode("a<é >b", false), (Ids{'a', think, 'b'}));
  EXPECT_EQ(tokenizer.bytes_of(think), "<é >");
  const std::vector<PromptPiece> pieces = {{"<é", true}, {" >", false}};
  EXPECT_EQ(tokenizer.encode(pieces), (Ids{think}));
}

TEST(Tokenizer, KeepsTypedControlTokensPlainText) {
  TinyVocabulary tiny;
  const TokenId end = tiny.add("<end>", TokenType::kControl);
  const Tokenizer tokenizer = tiny.build();
  const Ids plain = {'<', 'e', 'n', 'd', '>'};
  EXPECT_EQ(tokenizer.encode(std::vector<PromptPiece>{{"<end>", true}}), plain);
  // Neither may a name be completed across the border, from either side.
  EXPECT_EQ(tokenizer.encode(std::vector<PromptPiece>{{"<en", false}, {"d>", true}}), plain);
  EXPECT_EQ(tokenizer.encode(std::vector<PromptPiece>{{"<en", true}, {"d>", false}}), plain);
  EXPECT_EQ(tokenizer.encode(std::vector<PromptPiece>{{"<", false}, {"e", true}, {"nd>", false}}),
            plain);
  // The template's own pieces are one text, also around an empty input.
  EXPECT_EQ(tokenizer.encode(std::vector<PromptPiece>{{"<en", false}, {"", true}, {"d>", false}}),
            (Ids{end}));
  EXPECT_EQ(tokenizer.encode(
                std::vector<PromptPiece>{{"<end>", false}, {"<end>", true}, {"<end>", false}}),
            (Ids{end, '<', 'e', 'n', 'd', '>', end}));
}

TEST(Tokenizer, JoinsPlainPiecesBeforeSplittingThem) {
  TinyVocabulary tiny;
  const TokenId ab = tiny.merge("a", "b");
  const Tokenizer tokenizer = tiny.build();
  EXPECT_EQ(tokenizer.encode(std::vector<PromptPiece>{{"a", false}, {"b", true}}), (Ids{ab}));
}

TEST(Tokenizer, NeverMergesPlainTextIntoAControlToken) {
  TinyVocabulary tiny;
  tiny.add("ab", TokenType::kControl);
  tiny.plain().merges.push_back("a b");
  EXPECT_EQ(tiny.build().encode("ab", false), (Ids{'a', 'b'}));
}

TEST(Tokenizer, TakesWholeWordsBeforeMergingWhereTheRulesSaySo) {
  TinyVocabulary tiny("llama-bpe");
  const TokenId word = tiny.add("abc", TokenType::kNormal);
  EXPECT_EQ(tiny.build().encode("abc", false), (Ids{word}));
  tiny.plain().pre = "gpt-2";
  EXPECT_EQ(tiny.build().encode("abc", false), (Ids{'a', 'b', 'c'}));
}

TEST(Tokenizer, DecodesControlTokensOnlyOnRequest) {
  TinyVocabulary tiny;
  const TokenId end = tiny.add("<end>", TokenType::kControl);
  const TokenId foreign = tiny.add("日", TokenType::kNormal);  // not of the byte alphabet
  const Tokenizer tokenizer = tiny.build();
  const Ids ids = {'a', end, foreign, 0xC3};
  EXPECT_EQ(tokenizer.decode(ids, false), "a日\xC3");
  EXPECT_EQ(tokenizer.decode(ids, true), "a<end>日\xC3");
  EXPECT_EQ(tokenizer.bytes_of(end), "");
  EXPECT_TRUE(tokenizer.is_control(end));
  EXPECT_FALSE(tokenizer.is_control('a'));
}

TEST(Tokenizer, EndTokensAreEosEotAndControlTokensOfAKnownName) {
  TinyVocabulary tiny;
  const TokenId im_end = tiny.add("<|im_end|>", TokenType::kControl);
  tiny.add("<|eot_id|>", TokenType::kNormal);
  tiny.add("<|im_start|>", TokenType::kControl);
  tiny.plain().eos = 3;
  tiny.plain().eot = im_end;
  const Tokenizer tokenizer = tiny.build();
  const Ids ends(tokenizer.end_tokens().begin(), tokenizer.end_tokens().end());
  EXPECT_EQ(ends, (Ids{3, im_end}));
}

struct BadCase {
  const char* name;
  void (*damage)(Vocabulary&);
  Code code;
  const char* words;
};

TEST(Tokenizer, RefusesWhatItDoesNotKnowByName) {
  const BadCase cases[] = {
      {"model", [](Vocabulary& v) { v.model = "rwkv"; }, Code::kUnimplemented, "\"rwkv\""},
      {"pre", [](Vocabulary& v) { v.pre = "tekno"; }, Code::kUnimplemented, "\"tekno\""},
      {"scores", [](Vocabulary& v) { v.model = "llama"; }, Code::kInvalidArgument, "got 0"},
      {"split", [](Vocabulary& v) { v.splits = {"(a"}; }, Code::kInvalidArgument, "at byte 2"},
      {"no tokens", [](Vocabulary& v) { v.tokens.clear(); }, Code::kInvalidArgument, "got 0"},
      {"types", [](Vocabulary& v) { v.types.pop_back(); }, Code::kInvalidArgument, "got 255"},
      {"eos", [](Vocabulary& v) { v.eos = 256; }, Code::kInvalidArgument, "eos: expected"},
      {"bos", [](Vocabulary& v) { v.bos = -1; }, Code::kInvalidArgument, "got -1"},
      {"no blank", [](Vocabulary& v) { v.merges = {"ab"}; }, Code::kInvalidArgument, "merges[0]"},
      {"half", [](Vocabulary& v) { v.merges = {"a "}; }, Code::kInvalidArgument, "\"a \""},
      {"result", [](Vocabulary& v) { v.merges = {"a b"}; }, Code::kInvalidArgument, "merges[0]"},
  };
  for (const BadCase& bad : cases) {
    TinyVocabulary tiny;
    bad.damage(tiny.plain());
    const Result<Tokenizer> built = Tokenizer::build(tiny.plain());
    ASSERT_FALSE(built.ok()) << bad.name;
    EXPECT_EQ(built.error().code, bad.code) << bad.name;
    EXPECT_NE(built.error().message.find(bad.words), std::string::npos)
        << bad.name << ": " << built.error().message;
  }
}

TEST(TokenizerDeathTest, ChecksTheRangeOfIds) {
  const Tokenizer tokenizer = TinyVocabulary().build();
  EXPECT_DEATH(tokenizer.bytes_of(256), "token id");
  EXPECT_DEATH(tokenizer.bytes_of(-1), "token id");
}

}  // namespace
}  // namespace kantha::text
