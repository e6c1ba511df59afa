#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/grammar/grammar.h"
#include "tests/engine/exec/loop_bench.h"

// What a request's grammar makes of its output, through the whole loop.
namespace kantha::exec {
namespace {

using sched::FinishReason;
using testing::HasSubstr;

/// Token 0 ends, 1 … 26 are letters, then some longer ones.
std::shared_ptr<const grammar::Lexicon> letters() {
  std::vector<std::string> spellings(kVocabulary);
  for (std::size_t i = 1; i <= 26; ++i) spellings[i] = static_cast<char>('a' + i - 1);
  spellings[30] = "ab";
  spellings[31] = "bc";
  spellings[32] = "abc";
  return std::make_shared<const grammar::Lexicon>(spellings);
}

sched::GenerateSpec asking(const std::string& regex, std::vector<TokenId> prompt = {1, 2}) {
  auto grammar = grammar::compile(grammar::regex(regex, "r"), letters());
  CHECK(grammar.ok());
  auto rules = std::make_shared<sched::LogitRules>();
  rules->grammar = *grammar;
  sched::GenerateSpec spec;
  spec.id = {1};
  spec.prompt = std::move(prompt);
  spec.sampling.temperature = 0;
  spec.max_tokens = 20;
  spec.rules = std::move(rules);
  return spec;
}

fake::Received run(const sched::GenerateSpec& spec, std::vector<TokenId> says) {
  LoopBench bench(small_options(32, 4), fake::parrot(2, std::move(says)));
  CHECK(bench.submit(spec).ok());
  CHECK(bench.drain());
  return bench.of({1});
}

std::string text_of(const std::vector<TokenId>& tokens) {
  const auto lexicon = letters();
  std::string text;
  for (const TokenId token : tokens) text += lexicon->bytes_of(token);
  return text;
}

TEST(GrammarLoop, AnAnswerAfterWhichNothingMayComeEndsWithItsText) {
  const fake::Received got = run(asking("x{2}yz"), {7});
  EXPECT_EQ(text_of(got.tokens), "xxyz");
  EXPECT_EQ(got.finish, FinishReason::kStop);
  EXPECT_TRUE(got.events.back().ends_with_text);
  EXPECT_EQ(got.events.back().output_tokens, 4);
}

TEST(GrammarLoop, AnEndTokenComesOnlyWhereTheAnswerIsComplete) {
  // The model wants to end at once.
  const fake::Received got = run(asking("abc*"), {kEnd});
  EXPECT_EQ(got.tokens.back(), kEnd);
  EXPECT_EQ(text_of(got.tokens), "ab");
  EXPECT_EQ(got.finish, FinishReason::kStop);
  EXPECT_FALSE(got.events.back().ends_with_text);
}

TEST(GrammarLoop, WhatTheModelWantsIsTakenWhereItMayCome) {
  EXPECT_EQ(run(asking("[a-z]+"), {30, 32, 5, kEnd}).tokens,
            (std::vector<TokenId>{30, 32, 5, kEnd}));
}

TEST(GrammarLoop, MaxTokensMayCutAnAnswer) {
  sched::GenerateSpec spec = asking("x{10}");
  spec.max_tokens = 4;
  const fake::Received got = run(spec, {7});
  EXPECT_EQ(text_of(got.tokens), "xxxx");
  EXPECT_EQ(got.finish, FinishReason::kLength);
  spec.max_tokens = 10;
  EXPECT_EQ(run(spec, {7}).finish, FinishReason::kStop);
}

TEST(GrammarLoop, IgnoreEosAndMinTokensEndWithTheGrammar) {
  sched::GenerateSpec spec = asking("xy?");
  spec.ignore_eos = true;
  EXPECT_EQ(text_of(run(spec, {kEnd}).tokens), "xy");
  spec.ignore_eos = false;
  spec.min_tokens = 8;
  const fake::Received got = run(spec, {kEnd});
  EXPECT_EQ(text_of(got.tokens), "xy");
  EXPECT_EQ(got.finish, FinishReason::kStop);
}

TEST(GrammarLoop, AResumedAnswerGoesOnWhereItWas) {
  sched::GenerateSpec spec = asking("x{2}(ab|c)z");
  spec.resumed = {24, 24, 30};
  const fake::Received got = run(spec, {7});
  EXPECT_EQ(text_of(got.tokens), "z");
  EXPECT_EQ(got.finish, FinishReason::kStop);
  spec.resumed = {24, 24, 30, 26};
  const fake::Received whole = run(spec, {7});
  EXPECT_TRUE(whole.tokens.empty());
  EXPECT_EQ(whole.finish, FinishReason::kStop);
}

TEST(GrammarLoop, ResumedTokensThatDoNotFollowTheGrammarAreTheClientsError) {
  sched::GenerateSpec spec = asking("x{2}");
  spec.resumed = {24, 5};
  const fake::Received got = run(spec, {7});
  EXPECT_EQ(got.finish, FinishReason::kError);
  EXPECT_TRUE(got.events.back().forbidden);
  EXPECT_THAT(got.error, HasSubstr("kantha.resume"));
}

TEST(GrammarLoop, OtherRulesMayLeaveNothing) {
  sched::GenerateSpec spec = asking("x{3}");
  auto rules = std::make_shared<sched::LogitRules>(*spec.rules);
  rules->bad_words = {{24}};
  spec.rules = rules;
  const fake::Received got = run(spec, {7});
  EXPECT_EQ(got.finish, FinishReason::kError);
  EXPECT_TRUE(got.events.back().forbidden);
  EXPECT_THAT(got.error, HasSubstr("what the answer must look like"));
}

TEST(GrammarLoop, SamplesFollowItEachByItself) {
  LoopBench bench(small_options(64, 4));
  sched::GenerateSpec spec = asking("(a[b-f]{6}|g[h-m]{6})z", {1, 2, 3, 4, 5});
  spec.sampling.temperature = 1;
  for (std::uint64_t i = 1; i <= 6; ++i) {
    spec.id = {i};
    spec.sampling.seed = i;
    if (i > 1) spec.fork_of = RequestId{1};
    ASSERT_TRUE(bench.submit(spec).ok());
  }
  ASSERT_TRUE(bench.drain());
  for (std::uint64_t i = 1; i <= 6; ++i) {
    const std::string text = text_of(bench.of({i}).tokens);
    EXPECT_THAT(text, testing::MatchesRegex("(a[b-f]+|g[h-m]+)z"));
    EXPECT_EQ(text.size(), 8U);
    EXPECT_EQ(bench.of({i}).finish, FinishReason::kStop);
  }
}

TEST(GrammarLoop, PreemptionChangesNothing) {
  const auto answers = [](std::int32_t blocks) {
    EngineOptions options = small_options(blocks, 4);
    options.foresight = false;
    LoopBench bench(options);
    std::vector<std::vector<TokenId>> tokens;
    for (std::uint64_t i = 1; i <= 4; ++i) {
      sched::GenerateSpec spec = asking("([a-f][g-m])*[n-z]{30}");
      spec.id = {i};
      spec.max_tokens = 40;
      spec.sampling.temperature = 1;
      spec.sampling.seed = i;
      CHECK(bench.submit(spec).ok());
    }
    CHECK(bench.drain());
    for (std::uint64_t i = 1; i <= 4; ++i) tokens.push_back(bench.of({i}).tokens);
    return std::pair(tokens, bench.stats().preemptions_total);
  };
  const auto [calm, none] = answers(64);
  const auto [crowded, some] = answers(13);
  EXPECT_EQ(none, 0);
  EXPECT_GT(some, 0);
  EXPECT_EQ(calm, crowded);
  EXPECT_GT(text_of(calm.front()).size(), 30U);
}

}  // namespace
}  // namespace kantha::exec
