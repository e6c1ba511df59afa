#include "bench/load/distribution.h"

#include <gtest/gtest.h>

#include <numeric>

namespace kantha::bench {
namespace {

TEST(Distribution, PercentilesAreLinearBetweenRanksAsNumpyHasThem) {
  // numpy.percentile([15, 20, 35, 40, 50], [0, 40, 50, 95, 99, 100])
  const std::vector<double> values = {15, 20, 35, 40, 50};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 15);
  EXPECT_DOUBLE_EQ(quantile(values, 0.40), 29);
  EXPECT_DOUBLE_EQ(quantile(values, 0.50), 35);
  EXPECT_DOUBLE_EQ(quantile(values, 0.95), 48);
  EXPECT_DOUBLE_EQ(quantile(values, 0.99), 49.6);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 50);
}

TEST(Distribution, IsExactForOneToAHundredInAnyOrder) {
  std::vector<double> values(101);
  std::iota(values.rbegin(), values.rend(), 0);
  const auto d = distribution_of(values);
  ASSERT_TRUE(d.has_value());
  EXPECT_EQ(d->count, 101U);
  EXPECT_DOUBLE_EQ(d->mean, 50);
  EXPECT_DOUBLE_EQ(d->min, 0);
  EXPECT_DOUBLE_EQ(d->p50, 50);
  EXPECT_DOUBLE_EQ(d->p90, 90);
  EXPECT_DOUBLE_EQ(d->p95, 95);
  EXPECT_DOUBLE_EQ(d->p99, 99);
  EXPECT_DOUBLE_EQ(d->max, 100);
}

TEST(Distribution, OneValueIsEveryPercentile) {
  const auto d = distribution_of({7});
  ASSERT_TRUE(d.has_value());
  EXPECT_DOUBLE_EQ(d->p50, 7);
  EXPECT_DOUBLE_EQ(d->p99, 7);
}

TEST(Distribution, OfNothingIsAbsentAndNotZero) { EXPECT_FALSE(distribution_of({}).has_value()); }

TEST(Distribution, MedianOfAnEvenCountIsTheMiddle) {
  EXPECT_DOUBLE_EQ(median_of({4, 1, 3, 2}), 2.5);
}

}  // namespace
}  // namespace kantha::bench
