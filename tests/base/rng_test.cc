#include "base/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace kantha {
namespace {

TEST(Rng, TheSameSeedAndCounterGiveTheSameBitsForEver) {
  // Streams are resumed across builds: these values may not change.
  EXPECT_EQ(random_bits(0, 0), 0xa706dd2f4d197e6fULL);
  EXPECT_EQ(random_bits(42, 7), 0x40dd2b9196388fc1ULL);
}

TEST(Rng, NeighbouringSeedsAndCountersDiffer) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    for (std::uint64_t counter = 0; counter < 64; ++counter) {
      seen.insert(random_bits(seed, counter));
    }
  }
  EXPECT_EQ(seen.size(), 64U * 64U);
}

TEST(Rng, UnitNumbersAreUniformInZeroToOne) {
  constexpr int kDraws = 100'000;
  std::array<int, 10> buckets{};
  for (int i = 0; i < kDraws; ++i) {
    const double unit = random_unit(1234, static_cast<std::uint64_t>(i));
    ASSERT_GE(unit, 0.0);
    ASSERT_LT(unit, 1.0);
    ++buckets[static_cast<std::size_t>(unit * 10)];
  }
  // Chi-square with 9 degrees of freedom; 27.9 is its 99.9th percentile.
  double chi_square = 0;
  for (const int count : buckets) {
    const double delta = count - kDraws / 10.0;
    chi_square += delta * delta / (kDraws / 10.0);
  }
  EXPECT_LT(chi_square, 27.9);
}

TEST(Rng, OneStreamPerSeedIsUncorrelatedWithItsNeighbour) {
  double product = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const auto counter = static_cast<std::uint64_t>(i);
    product += (random_unit(1, counter) - 0.5) * (random_unit(2, counter) - 0.5);
  }
  EXPECT_LT(std::abs(product / kDraws), 0.002);
}

TEST(Rng, EntropySeedsDiffer) { EXPECT_NE(entropy_seed(), entropy_seed()); }

}  // namespace
}  // namespace kantha
