#include <gtest/gtest.h>

#include <algorithm>

#include "engine/grammar/program.h"
#include "tests/engine/grammar/random_walk.h"
#include "tests/engine/grammar/small_lexicon.h"

namespace kantha::grammar {
namespace {

/// The same by trying each token.
std::vector<TokenId> tried(const std::shared_ptr<const Grammar>& grammar, const std::string& text) {
  std::vector<TokenId> tokens;
  for (TokenId id = 0; id < grammar->lexicon().vocabulary_size(); ++id) {
    GrammarState state(grammar);
    CHECK(state.accept(std::string_view(text)));
    if (state.accept(id)) tokens.push_back(id);
  }
  return tokens;
}

Wish schema(const std::string& text) {
  auto json = parse_ordered_json(text);
  CHECK(json.ok());
  return json_schema(*std::move(json), "s");
}

std::vector<Wish> wishes() {
  return {
      json_value(),
      json_object(),
      schema(R"({"properties":{"name":{"type":"string"},"age":{"type":"integer"},
        "list":{"type":"array","items":{"$ref":"#"}}},"required":["name"]})"),
      schema(R"({"type":"array","items":{"enum":["a","ab","abc",12,123,null,true]}})"),
      schema(R"({"properties":{"x":{"type":"string","minLength":1,"maxLength":3}},
        "additionalProperties":{"type":"number","minimum":-1,"maximum":12.5}})"),
      schema(R"({"type":"array","items":{"type":"string","maxLength":9},"maxItems":9})"),
      regex("(ab?c?){9}1{2,7}", "r"),
      regex("(ab|abc|12)*\\s{0,3}[^\"]?", "r"),
      gbnf("root ::= \"[\" (root (\",\" root)*)? \"]\" | \"{\" \"}\" | [0-9]+", "g"),
      sequence({literal("ab"), repeat(one_of({literal("c"), literal("abc")}), 1, 3),
                text_without({"12", "a}"}), choice({"}}", "12}"})}),
  };
}

TEST(Masks, AreWhatTryingEachTokenGives) {
  std::mt19937_64 random(7);
  for (const Wish& wish : wishes()) {
    const auto grammar = compiled(wish, joint_lexicon());
    for (int walk = 0; walk < 4; ++walk) {
      GrammarState state(grammar);
      std::string text;
      for (int step = 0; step < 25 && !state.is_finished(); ++step) {
        const std::vector<TokenId> tokens = tokens_in(mask_of(state));
        ASSERT_EQ(tokens, tried(grammar, text)) << "after " << text;
        if (tokens.empty()) break;
        const TokenId token = tokens[random() % tokens.size()];
        ASSERT_TRUE(state.accept(token));
        text += grammar->lexicon().bytes_of(token);
      }
    }
  }
}

TEST(Masks, NeverLeadIntoADeadEnd) {
  std::mt19937_64 random(11);
  for (const Wish& wish : wishes()) {
    const auto grammar = compiled(wish, joint_lexicon());
    for (int walk = 0; walk < 20; ++walk) {
      GrammarState state(grammar);
      for (int step = 0; step < 60 && !state.is_finished(); ++step) {
        const std::vector<TokenId> tokens = tokens_in(mask_of(state));
        ASSERT_TRUE(!tokens.empty() || state.is_complete());
        if (tokens.empty()) break;
        ASSERT_TRUE(state.accept(tokens[random() % tokens.size()]));
      }
    }
  }
}

TEST(Masks, OnlyBytesThatCanBeSpeltAreOffered) {
  // "é" begins with a byte that is no token here: only the whole token may come.
  std::vector<std::string> spellings{"a", "b", "é", "\xC3"};
  const auto lexicon = std::make_shared<const Lexicon>(spellings);
  EXPECT_FALSE(compile(literal("aé"), lexicon).ok());
  const auto grammar = compiled(one_of({literal("aé"), literal("ab")}), lexicon);
  GrammarState state(grammar);
  EXPECT_EQ(tokens_in(mask_of(state)), std::vector<TokenId>{0});
  EXPECT_TRUE(state.accept(TokenId{0}));
  EXPECT_EQ(tokens_in(mask_of(state)), std::vector<TokenId>{1});
}

TEST(Masks, ControlTokensAreNeverTheirLetters) {
  const std::string mark(1, static_cast<char>(kControlMark));
  const auto lexicon = small_lexicon({mark + "<call>" + mark, "<call>"});
  const auto grammar =
      compiled(sequence({text_without({"x"}), control_token("<call>"), literal("ab")}), lexicon);
  GrammarState state(grammar);
  EXPECT_TRUE(state.accept(TokenId{257}));
  EXPECT_FALSE(state.is_complete());
  const auto tokens = tokens_in(mask_of(state));
  EXPECT_TRUE(std::ranges::find(tokens, 256) != tokens.end());
  EXPECT_TRUE(std::ranges::find(tokens, 255) == tokens.end());
  EXPECT_TRUE(state.accept(TokenId{256}));
  EXPECT_EQ(tokens_in(mask_of(state)), std::vector<TokenId>{'a'});
  const auto missing = compile(control_token("<no>"), lexicon);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("no control token \"<no>\""), std::string::npos);
}

TEST(Masks, AreSharedByStatesThatNoTokenTellsApart) {
  const auto grammar = compiled(regex("[a-z]{300}", "r"), joint_lexicon());
  const std::vector<StateId>& alike = grammar->program().alike;
  ASSERT_GE(alike.size(), 300U);
  std::size_t apart = 0;
  for (StateId state = 0; state < alike.size(); ++state) apart += alike[state] == state;
  EXPECT_GT(apart, joint_lexicon()->longest());
  EXPECT_LT(apart, joint_lexicon()->longest() + 4);
}

TEST(Masks, AreMadeAheadOfTheirUse) {
  const auto grammar = compiled(regex("[a-z]{4}", "r"), joint_lexicon());
  const std::size_t before = grammar->memory_bytes();
  grammar->prepare();
  const std::size_t prepared = grammar->memory_bytes();
  EXPECT_GT(prepared, before);
  GrammarState state(grammar);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(tokens_in(mask_of(state)).empty());
    ASSERT_TRUE(state.accept("a"));
  }
  EXPECT_EQ(grammar->memory_bytes(), prepared);
}

TEST(GrammarState, ARefusedTokenChangesNothing) {
  const auto grammar = compiled(schema(R"({"enum":["ab","ac"]})"), joint_lexicon());
  GrammarState state(grammar);
  EXPECT_TRUE(state.accept("\"a"));
  EXPECT_FALSE(state.accept("bx"));
  EXPECT_FALSE(state.accept(TokenId{-1}));
  EXPECT_FALSE(state.accept(TokenId{255}));
  EXPECT_FALSE(state.accept(TokenId{100'000}));
  EXPECT_TRUE(state.accept("c\""));
  EXPECT_TRUE(state.is_finished());
  EXPECT_TRUE(tokens_in(mask_of(state)).empty());
}

TEST(GrammarState, AnAmbiguousGrammarIsStoppedAndNotWaitedFor) {
  // Every byte may end any number of nested rules.
  const auto grammar = compiled(
      gbnf("root ::= a a a a\na ::= \"x\" | \"x\" a | a1 a1\na1 ::= \"x\" a a \"x\" | \"x\"", "g"),
      joint_lexicon());
  GrammarState state(grammar);
  std::size_t taken = 0;
  while (taken < 5000 && state.accept("x")) ++taken;
  EXPECT_TRUE(taken == 5000 || state.is_overrun());
}

TEST(GrammarState, LongAnswersAreFollowed) {
  const auto grammar = compiled(json_value(), joint_lexicon());
  GrammarState state(grammar);
  ASSERT_TRUE(state.accept("[{\"a\":"));
  // More frames are opened than are ever kept.
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(state.accept("{\"a\":[{}]},\"b\":"));
  ASSERT_TRUE(state.accept("1}]"));
  EXPECT_TRUE(state.is_finished());
}

}  // namespace
}  // namespace kantha::grammar
