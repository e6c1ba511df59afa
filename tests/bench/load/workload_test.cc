#include "bench/load/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/load/prompt_text.h"

namespace kantha::bench {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

std::size_t words_in(const std::string& text) {
  return text.empty() ? 0 : static_cast<std::size_t>(std::ranges::count(text, ' ')) + 1;
}

TEST(ParseLengths, ReadsOneNumberOrARange) {
  const auto one = parse_lengths("--input-tokens", "128");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->min, 128);
  EXPECT_EQ(one->max, 128);
  const auto range = parse_lengths("--input-tokens", "64:256");
  ASSERT_TRUE(range.ok());
  EXPECT_EQ(range->min, 64);
  EXPECT_EQ(range->max, 256);
}

TEST(ParseLengths, RefusesTheRestAndNamesTheFlag) {
  for (const char* text :
       {"", "0", "-3", "a", "3.5", "5:", ":5", "9:8", "1:2:3", "1000001", " 5"}) {
    const auto lengths = parse_lengths("--output-tokens", text);
    ASSERT_FALSE(lengths.ok()) << text;
    EXPECT_THAT(lengths.error().message, HasSubstr("--output-tokens")) << text;
    EXPECT_THAT(lengths.error().message, HasSubstr("got \"" + std::string(text) + "\""));
  }
}

TEST(CheckWorkload, AnUnknownNameListsTheKnownOnes) {
  const Status status = check_workload({.name = "sharepoint"});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "--workload: unknown \"sharepoint\"; known: random, sharegpt, shared-prefix, "
            "long-prompt, mixed");
  for (const std::string& name : workload_names()) EXPECT_TRUE(check_workload({.name = name}).ok());
}

TEST(RequestShape, IsAFunctionOfSeedAndIndex) {
  const WorkloadOptions options = {.name = "mixed", .seed = 7};
  std::set<int> lengths;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const RequestShape a = request_shape(options, i);
    const RequestShape b = request_shape(options, i);
    EXPECT_EQ(a.input_tokens, b.input_tokens);
    EXPECT_EQ(a.output_tokens, b.output_tokens);
    lengths.insert(a.input_tokens);
  }
  EXPECT_GT(lengths.size(), 20U);
}

TEST(RequestShape, ShareGptLengthsHaveTheMeansOfThePaper) {
  const WorkloadOptions options = {.name = "sharegpt", .seed = 1};
  constexpr int kCount = 20'000;
  double in = 0;
  double out = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const RequestShape shape = request_shape(options, i);
    EXPECT_THAT(shape.input_tokens, AllOf(Ge(4), Le(2048)));
    EXPECT_THAT(shape.output_tokens, AllOf(Ge(1), Le(2048)));
    in += shape.input_tokens;
    out += shape.output_tokens;
  }
  EXPECT_NEAR(in / kCount, 161.31, 8);
  EXPECT_NEAR(out / kCount, 337.99, 10);
}

TEST(RequestShape, GivenLengthsReplaceTheWorkloadsOwn) {
  for (const std::string& name : workload_names()) {
    const WorkloadOptions options = {
        .name = name, .input = LengthRange{10, 20}, .output = LengthRange{3, 3}, .seed = 5};
    for (std::uint64_t i = 0; i < 200; ++i) {
      const RequestShape shape = request_shape(options, i);
      EXPECT_THAT(shape.input_tokens - shape.prefix_tokens, AllOf(Ge(10), Le(20))) << name;
      EXPECT_EQ(shape.output_tokens, 3) << name;
    }
  }
}

TEST(RequestShape, MixedIsSeventyTwentyTen) {
  const WorkloadOptions options = {.name = "mixed", .seed = 3};
  std::map<std::string, int> kinds;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const RequestShape shape = request_shape(options, i);
    ++kinds[shape.prefix_index >= 0 ? "prefix" : shape.input_tokens == 6000 ? "long" : "chat"];
  }
  EXPECT_NEAR(kinds["chat"], 7000, 200);
  EXPECT_NEAR(kinds["prefix"], 2000, 200);
  EXPECT_NEAR(kinds["long"], 1000, 150);
}

TEST(FitToWindow, CutsTheOutputFirstAndThenTheInput) {
  RequestShape shape{.input_tokens = 90, .output_tokens = 30};
  EXPECT_FALSE(fit_to_window(shape, 0));
  EXPECT_FALSE(fit_to_window(shape, 120));
  EXPECT_TRUE(fit_to_window(shape, 100));
  EXPECT_EQ(shape.input_tokens, 90);
  EXPECT_EQ(shape.output_tokens, 10);
  shape = {.prefix_index = 0, .prefix_tokens = 80, .input_tokens = 90, .output_tokens = 30};
  EXPECT_TRUE(fit_to_window(shape, 50));
  EXPECT_EQ(shape.input_tokens, 49);
  EXPECT_EQ(shape.output_tokens, 1);
  EXPECT_EQ(shape.prefix_tokens, 49);
}

TEST(PromptText, HasTheWordsThatTheRatioAsksFor) {
  const TokenRatio ratio{.tokens_per_word = 2, .tokens_beside = 20, .source = "test"};
  EXPECT_EQ(words_in(prompt_text(1, 0, {.input_tokens = 120, .output_tokens = 1}, ratio)), 50U);
  EXPECT_EQ(words_in(prompt_text(1, 0, {.input_tokens = 3, .output_tokens = 1}, ratio)), 1U);
}

TEST(PromptText, DiffersFromRequestToRequestFromTheFirstWordsOn) {
  const RequestShape shape{.input_tokens = 40, .output_tokens = 1};
  std::set<std::string> beginnings;
  for (std::uint64_t i = 0; i < 200; ++i) {
    beginnings.insert(prompt_text(9, i, shape, {}).substr(0, 30));
  }
  EXPECT_GE(beginnings.size(), 199U);
  EXPECT_EQ(prompt_text(9, 4, shape, {}), prompt_text(9, 4, shape, {}));
  EXPECT_NE(prompt_text(9, 4, shape, {}), prompt_text(10, 4, shape, {}));
}

TEST(PromptText, EqualPrefixIndicesShareTheirPrefixAndNothingElse) {
  const TokenRatio ratio{.tokens_per_word = 1, .source = "test"};
  RequestShape shape{.prefix_index = 3, .prefix_tokens = 50, .input_tokens = 60};
  const std::string a = prompt_text(1, 0, shape, ratio);
  const std::string b = prompt_text(1, 1, shape, ratio);
  shape.prefix_index = 4;
  const std::string c = prompt_text(1, 2, shape, ratio);
  const auto [end_a, end_b] = std::ranges::mismatch(a, b);
  EXPECT_GE(words_in(std::string(a.begin(), end_a)), 50U);
  EXPECT_NE(a, b);
  EXPECT_NE(a.substr(0, 30), c.substr(0, 30));
}

}  // namespace
}  // namespace kantha::bench
