#include "engine/exec/row_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.h"

namespace kantha::exec {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> random_logits(std::size_t count, std::uint64_t seed) {
  std::vector<float> logits;
  for (std::size_t i = 0; i < count; ++i) {
    logits.push_back(static_cast<float>(random_unit(seed, i) * 60 - 40));
  }
  return logits;
}

TEST(RowKernels, TheMaximumIsFoundAtEveryPlaceOfEveryLength) {
  for (std::size_t count = 1; count <= 70; ++count) {
    for (std::size_t place = 0; place < count; ++place) {
      std::vector<float> logits(count, -3.0F);
      logits[place] = 2.5F;
      EXPECT_EQ(block_maximum(logits), 2.5F);
      EXPECT_EQ(first_equal(logits, 2.5F), place);
      logits[count - 1] = 2.5F;
      EXPECT_EQ(first_equal(logits, 2.5F), place) << "the first of equals";
    }
  }
  EXPECT_EQ(block_maximum(std::vector<float>(20, -kInfinity)), -kInfinity);
  EXPECT_EQ(first_equal(std::vector<float>(20, 1.0F), 2.0F), 20U);
}

TEST(RowKernels, NanAndInfinityMakeTheMaximumNanWhereverTheyAre) {
  for (const float bad : {kNan, -kNan, kInfinity}) {
    for (std::size_t count = 1; count <= 40; ++count) {
      for (std::size_t place = 0; place < count; ++place) {
        std::vector<float> logits(count, 1.0F);
        logits[place] = bad;
        EXPECT_TRUE(std::isnan(block_maximum(logits))) << place << " of " << count;
      }
    }
  }
}

TEST(RowKernels, WeightsHaveTheSameBitsInVectorsAndAlone) {
  for (const std::size_t count : {1U, 15U, 16U, 17U, 100U, 256U}) {
    for (const float temperature : {1e-4F, 0.3F, 1.0F, 1.7F}) {
      const std::vector<float> logits = random_logits(count, count);
      const WeightScale scale{.max = 20, .inverse = 1 / temperature};
      std::vector<float> weights(count);
      const float sum = weigh_block(logits, scale, weights);
      EXPECT_EQ(sum, weigh_block(logits, scale)) << "kept or not";
      double want = 0;
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(weights[i]),
                  std::bit_cast<std::uint32_t>(weight_of(logits[i], scale)));
        const double exact = std::exp(double{(logits[i] - 20) * scale.inverse});
        EXPECT_NEAR(double{weights[i]}, exact, exact * 3e-7 + 2e-38);
        want += double{weights[i]};
      }
      EXPECT_NEAR(double{sum}, want, want * 1e-6);
      EXPECT_EQ(weigh_above(logits, scale, -100), sum);
    }
  }
  const std::vector<float> impossible(20, -kInfinity);
  EXPECT_EQ(weigh_block(impossible, {.max = 1, .inverse = 1}), 0);
}

TEST(RowKernels, OnlyWhatIsAboveTheFloorIsCountedAndWeighed) {
  for (const std::size_t count : {1U, 16U, 37U, 256U}) {
    const std::vector<float> logits = random_logits(count, count);
    const WeightScale scale{.max = 20, .inverse = 0.5F};
    for (const float floor : {-50.0F, -10.0F, logits[count / 2], 30.0F}) {
      std::size_t above = 0;
      double want = 0;
      for (const float logit : logits) {
        if (logit <= floor) continue;
        ++above;
        want += double{weight_of(logit, scale)};
      }
      EXPECT_EQ(count_above(logits, floor), above);
      EXPECT_NEAR(double{weigh_above(logits, scale, floor)}, want, want * 1e-6);
    }
  }
}

TEST(RowKernels, ABlockIsWeighedFromItsOwnMaximum) {
  for (const std::size_t count : {1U, 37U, 256U}) {
    const std::vector<float> logits = random_logits(count, count);
    const float maximum = block_maximum(logits);
    double want = 0;
    for (const float logit : logits) want += std::exp(double{(logit - maximum) * 0.25F});
    EXPECT_NEAR(double{block_weight(logits, maximum, 0.25F)}, want, want * 1e-6);
  }
  EXPECT_EQ(block_weight(std::vector<float>(20, -kInfinity), -kInfinity, 1), 0);
  EXPECT_EQ(block_weight(std::vector<float>(20, kNan), kNan, 1), 0);
}

}  // namespace
}  // namespace kantha::exec
