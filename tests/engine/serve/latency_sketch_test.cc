#include "engine/serve/latency_sketch.h"

#include <gtest/gtest.h>

namespace kantha::serve {
namespace {

using std::chrono::seconds;

TEST(LatencySketch, QuantilesAreWithinATenth) {
  LatencySketch sketch;
  const TimePoint now{seconds(100)};
  EXPECT_EQ(sketch.quantile(0.5, now), 0) << "empty";
  for (int i = 1; i <= 1000; ++i) sketch.observe(i / 1000.0, now);
  EXPECT_EQ(sketch.count(now), 1000);
  EXPECT_NEAR(sketch.quantile(0.50, now), 0.50, 0.05);
  EXPECT_NEAR(sketch.quantile(0.99, now), 0.99, 0.1);
}

TEST(LatencySketch, WhatIsAMinuteOldIsForgotten) {
  LatencySketch sketch;
  const TimePoint start{seconds(90)};
  sketch.observe(5, start);
  sketch.observe(0.001, start + seconds(31));
  EXPECT_EQ(sketch.count(start + seconds(31)), 2);
  EXPECT_EQ(sketch.count(start + seconds(61)), 1);
  EXPECT_LT(sketch.quantile(1, start + seconds(61)), 0.0012);
  EXPECT_EQ(sketch.count(start + seconds(500)), 0);
}

TEST(LatencySketch, AnyNumberHasAPlace) {
  LatencySketch sketch;
  const TimePoint now{seconds(1)};
  for (const double value : {0.0, -1.0, 1e-9, 1e9}) sketch.observe(value, now);
  EXPECT_EQ(sketch.count(now), 4);
  EXPECT_GT(sketch.quantile(1, now), 100);
}

}  // namespace
}  // namespace kantha::serve
