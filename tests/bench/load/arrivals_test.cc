#include "bench/load/arrivals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kantha::bench {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

TEST(PoissonArrivals, AreTheSameForTheSameSeedAndOthersForAnother) {
  const auto a = poisson_arrivals(5, 100, {}, 42, 0);
  EXPECT_EQ(a, poisson_arrivals(5, 100, {}, 42, 0));
  EXPECT_NE(a, poisson_arrivals(5, 100, {}, 43, 0));
  EXPECT_NE(a, poisson_arrivals(5, 100, {}, 42, 100));
  EXPECT_EQ(a.size(), 100U);
  EXPECT_EQ(a.front(), Duration::zero());
  EXPECT_TRUE(std::ranges::is_sorted(a));
}

TEST(PoissonArrivals, GapsHaveTheMeanAndTheSpreadOfAnExponential) {
  constexpr std::size_t kCount = 50'000;
  const auto due = poisson_arrivals(20, kCount, {}, 1, 0);
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 1; i < due.size(); ++i) {
    const double gap = std::chrono::duration<double>(due[i] - due[i - 1]).count();
    sum += gap;
    squares += gap * gap;
  }
  const double mean = sum / (kCount - 1);
  EXPECT_NEAR(mean, 0.05, 0.001);
  // An exponential's standard deviation equals its mean.
  EXPECT_NEAR(std::sqrt(squares / (kCount - 1) - mean * mean) / mean, 1, 0.03);
}

TEST(PoissonArrivals, EndWithTheDuration) {
  const auto due = poisson_arrivals(100, 0, 10s, 1, 0);
  EXPECT_NEAR(static_cast<double>(due.size()), 1000, 120);
  EXPECT_LT(due.back(), 10s);
  EXPECT_EQ(poisson_arrivals(100, 7, 10s, 1, 0).size(), 7U);
}

TEST(ParseTrace, ReadsBothSpellingsSortsAndStartsAtZero) {
  const auto trace = parse_trace(
      R"({"at_ms": 1500, "prompt_tokens": 30, "output_tokens": 4, "prefix_id": "two", "prefix_tokens": 20})"
      "\n\n"
      R"({"timestamp": 500, "input_length": 7, "output_length": 9, "hash_ids": [1]})"
      "\n");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->size(), 2U);
  EXPECT_EQ((*trace)[0].due, 0s);
  EXPECT_EQ((*trace)[0].shape.input_tokens, 7);
  EXPECT_EQ((*trace)[0].shape.output_tokens, 9);
  EXPECT_EQ((*trace)[0].shape.prefix_index, -1);
  EXPECT_EQ((*trace)[1].due, 1s);
  EXPECT_EQ((*trace)[1].shape.prefix_index, 0);
  EXPECT_EQ((*trace)[1].shape.prefix_tokens, 20);
}

TEST(ParseTrace, NamesTheLineAndTheField) {
  struct Case {
    const char* text;
    const char* says;
  };
  for (const Case& c : {
           Case{"", "no requests"},
           {"{}\n", "line 1: at_ms"},
           {"{\"at_ms\": 1, \"prompt_tokens\": 3}", "line 1: output_tokens"},
           {"\n{\"at_ms\": 1, \"prompt_tokens\": 0, \"output_tokens\": 1}",
            "line 2: prompt_tokens"},
           {"{\"at_ms\": -1, \"prompt_tokens\": 1, \"output_tokens\": 1}", "at_ms"},
           {"{\"at_ms\": 1, \"prompt_tokens\": \"x\", \"output_tokens\": 1}", "prompt_tokens"},
           {"[1]", "line 1"},
           {"nonsense", "line 1"},
           {"{\"at_ms\":1,\"prompt_tokens\":5,\"output_tokens\":1,\"prefix_id\":\"a\"}",
            "prefix_tokens"},
       }) {
    const auto trace = parse_trace(c.text);
    ASSERT_FALSE(trace.ok()) << c.text;
    EXPECT_THAT(trace.error().message, HasSubstr(c.says)) << c.text;
  }
}

}  // namespace
}  // namespace kantha::bench
