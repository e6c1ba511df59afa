#include "engine/serve/token_estimate.h"

#include <gtest/gtest.h>

namespace kantha::serve {
namespace {

TEST(TokenEstimate, BeginsWithEnglishAndRoundsUp) {
  const TokenEstimate estimate;
  EXPECT_EQ(estimate.tokens(0), 0);
  EXPECT_EQ(estimate.tokens(1), 1);
  EXPECT_EQ(estimate.tokens(4000), 1000);
}

TEST(TokenEstimate, LearnsTheTextThatComes) {
  TokenEstimate estimate;
  for (int i = 0; i < 50; ++i) estimate.learn(6000, 3000);
  EXPECT_NEAR(static_cast<double>(estimate.tokens(10'000)), 5000, 150);
  for (int i = 0; i < 100; ++i) estimate.learn(6000, 1000);
  EXPECT_NEAR(static_cast<double>(estimate.tokens(6000)), 1000, 100)
      << "and forgets what came before";
}

TEST(TokenEstimate, ShortTextsTeachNothing) {
  TokenEstimate estimate;
  for (int i = 0; i < 1000; ++i) estimate.learn(2, 37);  // "hi" in a chat template
  EXPECT_EQ(estimate.tokens(4000), 1000);
}

}  // namespace
}  // namespace kantha::serve
