#include <gtest/gtest.h>

#include <algorithm>

#include "engine/grammar/grammar_cache.h"
#include "tests/engine/grammar/mask_times.h"
#include "tests/engine/grammar/random_walk.h"
#include "tests/engine/text/model_tokenizer.h"

// Masks over the test model's own vocabulary.
namespace kantha::grammar {
namespace {

const std::shared_ptr<const Lexicon>& lexicon() {
  static const auto made = Lexicon::of(text::model_tokenizer());
  return made;
}

Wish schema(const std::string& text) {
  auto json = parse_ordered_json(text);
  CHECK(json.ok());
  return json_schema(*std::move(json), "s");
}

constexpr const char* kPerson = R"({"type":"object","properties":{
  "name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":120},
  "email":{"type":"string","format":"email"},"note":{"type":"string","maxLength":200},
  "tags":{"type":"array","items":{"enum":["red","green","blue"]}},
  "address":{"type":"object","properties":{"street":{"type":"string"},"zip":{"type":"string",
    "pattern":"^[0-9]{5}$"}},"required":["street"]}},"required":["name","age"]})";

std::shared_ptr<const Grammar> compiled(const Wish& wish) {
  auto grammar = compile(wish, lexicon());
  CHECK(grammar.ok());
  return *grammar;
}

TEST(ModelMasks, AreWhatTryingEachTokenGives) {
  const std::pair<Wish, std::vector<std::string>> cases[] = {
      {json_object(), {"", "{\"a", "{\"a\": \"x", "{\"a\": [1", "{\"a\": [1, {\"b\": tr"}},
      {schema(kPerson),
       {"{", "{\"name\": \"é", "{\"name\": \"A\\", "{\"name\": \"A\", \"age\": 1",
        "{\"name\": \"A\",\n  \"age\": 12, \"note\": \"abc"}},
      {regex("(foo|bar)+\\d{2,4}[^a]", "r"), {"", "foo", "bar1", "foo12"}},
      {gbnf("root ::= \"(\" (root | [a-z ]+)* \")\"", "g"), {"", "((", "(ab (c)"}}};
  for (const auto& [wish, prefixes] : cases) {
    const auto grammar = compiled(wish);
    for (const std::string& prefix : prefixes) {
      GrammarState state(grammar);
      ASSERT_TRUE(state.accept(std::string_view(prefix))) << prefix;
      std::vector<TokenId> tried;
      for (TokenId id = 0; id < lexicon()->vocabulary_size(); ++id) {
        GrammarState trial(grammar);
        ASSERT_TRUE(trial.accept(std::string_view(prefix)));
        if (trial.accept(id)) tried.push_back(id);
      }
      EXPECT_EQ(tokens_in(mask_of(state)), tried) << prefix;
    }
  }
}

TEST(ModelMasks, EndTokensAndControlTokensAreNeverAmongThem) {
  const auto grammar = compiled(regex("[^q]*", "r"));
  GrammarState state(grammar);
  const std::vector<TokenId> tokens = tokens_in(mask_of(state));
  EXPECT_GT(tokens.size(), 40'000U);
  for (const TokenId id : tokens) EXPECT_FALSE(text::model_tokenizer().is_control(id)) << id;
}

TEST(ModelMasks, AnswersCacheTheirGrammars) {
  GrammarCache cache;
  const auto first = cache.get(schema(kPerson), text::model_tokenizer());
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(cache.find(schema(kPerson)), *first);
  EXPECT_EQ(*cache.get(schema(kPerson), text::model_tokenizer()), *first);
  EXPECT_EQ(cache.hits(), 2U);
  EXPECT_EQ(cache.find(json_object()), nullptr);
  EXPECT_FALSE(cache.get(schema("false"), text::model_tokenizer()).ok());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(cache.get(literal(std::to_string(i)), text::model_tokenizer()).ok());
  }
  EXPECT_EQ(cache.size(), GrammarCache::kCountMax);
  EXPECT_EQ(cache.find(schema(kPerson)), nullptr);
}

TEST(ModelMasks, FailuresAreRemembered) {
  GrammarCache cache;
  const Wish impossible = schema(R"({"type":"string","pattern":"("})");
  const auto first = cache.get(impossible, text::model_tokenizer());
  ASSERT_FALSE(first.ok());
  EXPECT_TRUE(cache.fails(impossible));
  EXPECT_EQ(cache.get(impossible, text::model_tokenizer()).error().message, first.error().message);
  EXPECT_EQ(cache.compilations(), 1U);
  Wish elsewhere = impossible;
  elsewhere.path = "tools[0]";
  EXPECT_FALSE(cache.fails(elsewhere)) << "its error names another place";
  EXPECT_TRUE(
      cache.get(elsewhere, text::model_tokenizer()).error().message.starts_with("tools[0]"));
  for (std::size_t i = 0; i < GrammarCache::kFailuresMax; ++i) {
    EXPECT_FALSE(cache.get(regex(std::to_string(i) + "(", "r"), text::model_tokenizer()).ok());
  }
  EXPECT_FALSE(cache.fails(impossible)) << "the oldest goes first";
  EXPECT_EQ(cache.size(), 0U);
}

TEST(ModelMasks, TakeMicroseconds) {
  expect_quick_masks(text::model_tokenizer(), /*answers=*/30, /*most_us=*/50);
}

}  // namespace
}  // namespace kantha::grammar
