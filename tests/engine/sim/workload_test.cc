#include "engine/sim/workload.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/sim/arrival_line.h"
#include "engine/sim/cost_model.h"
#include "engine/sim/histogram.h"
#include "engine/sim/policy.h"

/// Generators, lengths, costs and the small parts.
namespace kantha::sim {
namespace {

using namespace std::chrono_literals;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

TEST(WorkloadTest, ShareGptLengthsHaveThePublishedMeansAndAWideSpread) {
  const Workload workload = poisson(sharegpt_shape(), 1, 100'000, 1);
  double prompt = 0;
  double output = 0;
  std::int32_t long_prompts = 0;
  for (const Arrival& arrival : workload.arrivals) {
    prompt += arrival.prompt_tokens;
    output += arrival.output_tokens;
    long_prompts += arrival.prompt_tokens > 500 ? 1 : 0;
  }
  EXPECT_NEAR(prompt / 1e5 / 161.31, 1, 0.03);
  EXPECT_NEAR(output / 1e5 / 337.99, 1, 0.03);
  EXPECT_GT(long_prompts, 5'000);
}

TEST(WorkloadTest, PoissonGapsAreExponential) {
  const Workload workload = poisson({fixed_length(1), fixed_length(1)}, 50, 100'000, 9);
  double sum = 0;
  double squares = 0;
  Duration last{};
  for (const Arrival& arrival : workload.arrivals) {
    const double gap = seconds(arrival.at - last) * 50;
    last = arrival.at;
    sum += gap;
    squares += gap * gap;
  }
  EXPECT_NEAR(sum / 1e5, 1, 0.02);
  EXPECT_NEAR(squares / 1e5, 2, 0.06);
}

TEST(WorkloadTest, SeedsDecideAndLengthsDoNotMoveArrivals) {
  const auto at = [](const RequestShape& shape, std::uint64_t seed) {
    std::vector<Duration> times;
    for (const Arrival& arrival : poisson(shape, 2, 50, seed).arrivals) times.push_back(arrival.at);
    return times;
  };
  EXPECT_EQ(at(sharegpt_shape(), 4), at({fixed_length(9), fixed_length(9)}, 4));
  EXPECT_NE(at(sharegpt_shape(), 4), at(sharegpt_shape(), 5));
}

TEST(WorkloadTest, UsersOfAClosedLoopWaitForTheirAnswers) {
  const Workload workload = closed_loop({fixed_length(1), fixed_length(1)}, 2, 2, 1s, 0);
  ASSERT_EQ(workload.arrivals.size(), 4u);
  ArrivalLine line(workload);
  EXPECT_EQ(line.take(TimePoint{} + 0s)->index, 0);
  EXPECT_FALSE(line.take(TimePoint{} + 499ms));
  EXPECT_EQ(line.take(TimePoint{} + 500ms)->index, 1);
  EXPECT_FALSE(line.next());
  line.ended(0, TimePoint{} + 3s);
  ASSERT_TRUE(line.next());
  EXPECT_EQ(line.next()->index, 2);
  EXPECT_EQ(line.next()->at, TimePoint{} + 4s);
}

TEST(WorkloadTest, MergingKeepsDependenciesAndTenants) {
  Workload first = burst({fixed_length(1), fixed_length(1)}, 3, 0s, 0);
  Workload second = closed_loop({fixed_length(1), fixed_length(1)}, 1, 2, 1s, 0);
  second.tenants = {"other"};
  const Workload both = merged(first, second);
  EXPECT_EQ(both.tenants, (std::vector<std::string>{"", "other"}));
  EXPECT_EQ(both.arrivals[4].after, 3);
  EXPECT_EQ(both.arrivals[4].tenant, 1);
  EXPECT_EQ(both.arrivals[0].tenant, 0);
}

TEST(WorkloadTest, ShapesAreReadAndFaultyOnesAreNamed) {
  const RequestShape shape = shape_from_text("200~0.5:100").value();
  EXPECT_EQ(shape.output.draw(1, 1), 100);
  EXPECT_NE(shape.prompt.draw(1, 1), shape.prompt.draw(1, 2));
  EXPECT_TRUE(shape_from_text("sharegpt").ok());
  const struct {
    const char* text;
    const char* says;
  } cases[] = {{"", "expected \"sharegpt\" or PROMPT:OUTPUT, got \"\""},
               {"5", "PROMPT:OUTPUT"},
               {"0:5", "prompt: expected tokens in [1, 1048576], got \"0\""},
               {"5:x", "output: expected tokens in [1, 1048576], got \"x\""},
               {"5~9:5", "prompt: expected a spread in [0, 4] after ~, got \"5~9\""},
               {"nan:5", "prompt: expected tokens"}};
  for (const auto& c : cases) {
    const auto got = shape_from_text(c.text);
    ASSERT_FALSE(got.ok()) << c.text;
    EXPECT_NE(got.error().message.find(c.says), std::string::npos) << got.error().message;
  }
}

TEST(CostModelTest, TheDefaultsAreTheMeasuredMachine) {
  const CostModel cost;
  // 512 prompt tokens at about 1,800 tokens/s; a context of 200.
  EXPECT_NEAR(512 / seconds(cost.step({512, 1, 512 * 513 / 2})), 1800, 60);
  EXPECT_NEAR(seconds(cost.step({1, 1, 200})), 0.0063, 0.0001);
  EXPECT_NEAR(seconds(cost.step({16, 16, 16 * 200})), 0.021, 0.0005);
}

TEST(CostModelTest, IsReadFromTextAndFaultsAreNamed) {
  const CostModel cost = cost_model_from_text("row_ms=2,fixed_ms=1").value();
  EXPECT_EQ(cost.step({3, 0, 0}), 7ms);
  EXPECT_EQ(to_text(cost_model_from_text(to_text(cost)).value()), to_text(cost));
  const struct {
    const char* text;
    const char* says;
  } cases[] = {{"row=2", "unknown key \"row\"; known: fixed_ms, row_ms"},
               {"row_ms=-1", "row_ms: expected a number in [0, 1000000], got \"-1\""},
               {"row_ms=1e9", "got \"1e9\""},
               {"row_ms", "got \"\""},
               {"fixed_ms=0,row_ms=0,output_row_ms=0,context_us=0", "a step must take time"}};
  for (const auto& c : cases) {
    const auto got = cost_model_from_text(c.text);
    ASSERT_FALSE(got.ok()) << c.text;
    EXPECT_NE(got.error().message.find(c.says), std::string::npos) << got.error().message;
  }
}

TEST(HistogramTest, QuantilesAreWithinOnePercent) {
  Histogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0);
  for (int i = 1; i <= 1000; ++i) histogram.add(i * 0.001);
  EXPECT_NEAR(histogram.quantile(0.50), 0.500, 0.005);
  EXPECT_NEAR(histogram.quantile(0.99), 0.990, 0.0099);
  EXPECT_NEAR(histogram.mean(), 0.5005, 1e-9);
  histogram.add(0, 10'000);
  EXPECT_EQ(histogram.quantile(0.5), 0);
}

TEST(PolicyTest, AnUnknownNameListsTheKnownOnes) {
  EXPECT_EQ(policy_from_name("dynamic").value(), PolicyKind::kDynamic);
  const auto got = policy_from_name("magic");
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().message,
            "unknown policy \"magic\"; known policies: static, dynamic, continuous");
}

}  // namespace
}  // namespace kantha::sim
