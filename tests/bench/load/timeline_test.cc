#include "bench/load/timeline.h"

#include <gtest/gtest.h>

#include "tests/bench/load/request_logs.h"

namespace kantha::bench {
namespace {

TEST(CumulativeShare, RisesFromZeroToOne) {
  const Curve curve = cumulative_share({3, 1, 2, 4}, 100, 0.01);
  const Curve expected = {{1, 0}, {1, 0.25}, {2, 0.5}, {3, 0.75}, {4, 1}};
  EXPECT_EQ(curve, expected);
  EXPECT_TRUE(cumulative_share({}, 100, 0.01).empty());
}

TEST(CumulativeShare, IsThinnedAndKeepsZerosOnTheAxis) {
  std::vector<double> values(10'000, 0.0);
  values.back() = 9;
  const Curve curve = cumulative_share(values, 50, 0.01);
  EXPECT_EQ(curve.size(), 51U);
  EXPECT_EQ(curve.front().first, 0.01);
  EXPECT_EQ(curve.back(), (std::pair<double, double>(9, 1)));
}

TEST(Timeline, SpreadsTokensOverChunksAndPhasesOneAfterTheOther) {
  const std::vector<Phase> phases = {phase_of({answered(0, {500, 1500}, 2000, 40)}),
                                     phase_of({answered(0, {}, 2000, 10)})};
  const Curve curve = throughput_over_time(phases, 4);
  ASSERT_EQ(curve.size(), 4U);
  EXPECT_EQ(curve[0], (std::pair<double, double>(0.5, 20)));
  EXPECT_EQ(curve[1], (std::pair<double, double>(1.5, 20)));
  EXPECT_EQ(curve[2].second, 0);
  EXPECT_EQ(curve[3].second, 10);  // a whole answer counts at its end
}

TEST(Timeline, CountsRequestsInFlight) {
  const std::vector<Phase> phases = {
      phase_of({answered(0, {1}, 2000, 1), answered(1000, {1001}, 4000, 1)})};
  const Curve curve = in_flight_over_time(phases, 4);
  ASSERT_EQ(curve.size(), 4U);
  EXPECT_DOUBLE_EQ(curve[0].second, 1);
  EXPECT_DOUBLE_EQ(curve[1].second, 2);
  EXPECT_DOUBLE_EQ(curve[2].second, 1);
  EXPECT_DOUBLE_EQ(curve[3].second, 1);
}

TEST(Timeline, NothingMeasuredIsAnEmptyCurve) {
  EXPECT_TRUE(throughput_over_time({}, 10).empty());
  EXPECT_TRUE(in_flight_over_time({Phase{}}, 10).empty());
}

}  // namespace
}  // namespace kantha::bench
