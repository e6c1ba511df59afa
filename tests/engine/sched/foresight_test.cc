#include "engine/sched/foresight.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace kantha::sched {
namespace {

constexpr RowGrowth kRow{.tokens = 16, .blocks = 1};

/// Answers that never stop by themselves.
OutputLengths endless() {
  OutputLengths lengths;
  for (int i = 0; i < 2000; ++i) {
    for (std::int32_t length = 1; length <= 1000; ++length) lengths.observe(length, false);
  }
  lengths.settle();
  return lengths;
}

TEST(OutputLengths, LearnsHowLongAnswersAre) {
  OutputLengths lengths;
  EXPECT_NEAR(lengths.survival(0, 256), std::exp(-1), 0.01) << "a guess";
  std::mt19937_64 random(1);
  std::exponential_distribution<double> answer(1.0 / 80);
  for (int i = 0; i < 3000; ++i) {
    const auto length = 1 + static_cast<std::int32_t>(answer(random));
    for (std::int32_t at = 1; at <= length; ++at) lengths.observe(at, at == length);
  }
  lengths.settle();
  for (const std::int32_t tokens : {20, 80, 160}) {
    EXPECT_NEAR(lengths.survival(0, tokens), std::exp(-tokens / 80.0), 0.08) << tokens;
    EXPECT_NEAR(lengths.survival(40, tokens), std::exp(-tokens / 80.0), 0.08) << tokens;
  }
}

TEST(OutputLengths, AnswersThatReachTheirLimitAreNoStops) {
  OutputLengths lengths;
  for (int i = 0; i < 200; ++i) {
    for (std::int32_t at = 1; at <= 100; ++at) lengths.observe(at, false);
  }
  lengths.settle();
  EXPECT_GT(lengths.survival(0, 90), 0.95);
}

TEST(OutputLengths, FollowsAChangeOfHabits) {
  OutputLengths lengths;
  const auto answers = [&](int count, std::int32_t length) {
    for (int i = 0; i < count; ++i) {
      for (std::int32_t at = 1; at <= length; ++at) lengths.observe(at, at == length);
    }
    lengths.settle();
  };
  answers(2000, 10);
  EXPECT_LT(lengths.survival(0, 40), 0.2);
  answers(2000, 300);
  EXPECT_GT(lengths.survival(0, 40), 0.8);
}

TEST(Foresight, ThePeakOfAnswersThatReachTheirLimits) {
  const OutputLengths lengths = endless();
  const auto peak = [&](std::vector<Growth> running, const Growth& next) {
    Foresight foresight;
    for (const Growth& growth : running) foresight.add(growth, lengths, kRow);
    return foresight.peak_with(next, lengths, kRow);
  };
  EXPECT_NEAR(peak({}, {.limit = 64, .needed = 3}), 3 + 4, 0.8);
  EXPECT_NEAR(peak({}, {.limit = 64, .needed = 3, .slack = 16}), 3 + 3, 0.8);
  EXPECT_NEAR(peak({{.limit = 64}}, {.limit = 64, .needed = 3}), 3 + 4 + 4, 0.8);
  // One that ends early gives back what it holds before the other grows.
  const double early = peak({{.limit = 8, .freed = 20}}, {.limit = 300, .needed = 3});
  EXPECT_NEAR(early, 3 + 1 + 1, 1.5);
  EXPECT_EQ(peak({}, {.limit = 0, .needed = 2}), 2);
}

TEST(Foresight, AnswersThatStopEarlyNeedLessThanTheirLimits) {
  OutputLengths lengths;
  for (int i = 0; i < 500; ++i) {
    for (std::int32_t at = 1; at <= 30; ++at) lengths.observe(at, at == 30);
  }
  lengths.settle();
  Foresight foresight;
  for (int i = 0; i < 15; ++i) foresight.add({.limit = 4000, .freed = 5}, lengths, kRow);
  const double peak = foresight.peak_with({.limit = 4000, .needed = 5}, lengths, kRow);
  EXPECT_LT(peak, 5 + 16 * 3);
  EXPECT_GT(peak, 5 + 16) << "all grow at first";
}

}  // namespace
}  // namespace kantha::sched
