#include "noded/fleet/route_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/rng.h"
#include "noded/fleet/prompt_key.h"

namespace kantha::noded {
namespace {

constexpr std::uint64_t kSeed = 20261130;
constexpr int kKeys = 3000;

std::vector<RouteCandidate> fleet(int pods, std::int64_t running = 0) {
  std::vector<RouteCandidate> out;
  for (int i = 0; i < pods; ++i) {
    out.push_back({text_bits("pod-" + std::to_string(i)), i == 0, running, std::nullopt});
  }
  return out;
}

std::uint64_t owner(const std::vector<RouteCandidate>& candidates, std::uint64_t key) {
  return candidates[*choose_route(candidates, key, 0)].name_bits;
}

TEST(RouteChoice, NobodyIsNobodyAndOneIsTheOne) {
  EXPECT_FALSE(choose_route({}, 5, 0));
  EXPECT_EQ(choose_route(fleet(1, 1000), 5, 0), 0U);
  EXPECT_EQ(choose_route(fleet(1, 1000), std::nullopt, 0), 0U);
}

TEST(RouteChoice, EveryPodOfAnIdleFleetSendsAKeyToTheSameOwner) {
  for (std::uint64_t key = 0; key < 100; ++key) {
    std::vector<RouteCandidate> seen = fleet(5);
    const std::uint64_t first = owner(seen, key);
    for (std::size_t turn = 1; turn < seen.size(); ++turn) {
      std::rotate(seen.begin(), seen.begin() + 1, seen.end());
      EXPECT_EQ(owner(seen, key), first) << "each pod lists the others in another order";
    }
  }
}

TEST(RouteChoice, APodThatComesOrGoesMovesItsOwnKeysOnly) {
  for (int pods = 2; pods <= 12; ++pods) {
    const std::vector<RouteCandidate> before = fleet(pods);
    const std::vector<RouteCandidate> after = fleet(pods + 1);
    int moved = 0;
    for (int i = 0; i < kKeys; ++i) {
      const std::uint64_t key = random_bits(kSeed, static_cast<std::uint64_t>(i));
      if (owner(before, key) == owner(after, key)) continue;
      ++moved;
      EXPECT_EQ(owner(after, key), after.back().name_bits) << "to the new pod and nowhere else";
    }
    const double expected = static_cast<double>(kKeys) / (pods + 1);
    EXPECT_NEAR(moved, expected, 0.25 * expected) << pods;
  }
}

TEST(RouteChoice, ANewPodsKeysComeToItOneAfterTheOtherAndNeverGoBack) {
  std::vector<RouteCandidate> seen = fleet(4);
  for (RouteCandidate& candidate : seen) candidate.ready_for = std::chrono::hours(1);
  const std::uint64_t fresh = seen.back().name_bits;
  std::map<std::uint64_t, std::uint64_t> owners;
  std::vector<double> shares;
  for (int second = 0; second <= 10; ++second) {
    seen.back().ready_for = std::chrono::seconds(second);
    int owned = 0;
    for (int i = 0; i < kKeys; ++i) {
      const std::uint64_t key = random_bits(kSeed, static_cast<std::uint64_t>(i));
      const std::uint64_t now = owner(seen, key);
      const auto before = owners.find(key);
      if (before != owners.end() && before->second != now) {
        EXPECT_EQ(now, fresh) << "after " << second << " s";
      }
      owners[key] = now;
      owned += now == fresh ? 1 : 0;
    }
    shares.push_back(static_cast<double>(owned) / kKeys);
  }
  EXPECT_NEAR(shares[0], 0.2 / 3.2, 0.02) << "a fifth of a share";
  EXPECT_NEAR(shares[5], 0.5 / 3.5, 0.02);
  EXPECT_NEAR(shares[10], 0.25, 0.02);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
}

TEST(RouteChoice, AFleetThatHasJustBegunIsDividedEvenly) {
  std::vector<RouteCandidate> seen = fleet(3);
  seen[0].ready_for = std::chrono::seconds(9);
  seen[1].ready_for = std::chrono::seconds(1);
  for (std::uint64_t key = 0; key < 200; ++key) {
    EXPECT_EQ(owner(seen, key), owner(fleet(3), key)) << "nobody is known to be older";
  }
}

TEST(RouteChoice, KeysSpreadEvenly) {
  std::map<std::uint64_t, int> owned;
  for (int i = 0; i < kKeys; ++i) {
    owned[owner(fleet(6), random_bits(kSeed, static_cast<std::uint64_t>(i)))] += 1;
  }
  ASSERT_EQ(owned.size(), 6U);
  for (const auto& [pod, count] : owned) EXPECT_NEAR(count, kKeys / 6, kKeys / 6 / 5);
}

TEST(RouteChoice, OnePopularPrefixIsNeverMoreThanItsShareOfTheFleet) {
  for (int pods = 2; pods <= 8; ++pods) {
    std::vector<RouteCandidate> candidates = fleet(pods);
    for (int sent = 0; sent < 40 * pods; ++sent) {
      candidates[*choose_route(candidates, 77, 0)].running += 1;
    }
    for (const RouteCandidate& candidate : candidates) {
      EXPECT_LE(candidate.running, 50) << "1.25 times a mean of 40";
    }
  }
}

TEST(RouteChoice, AnIdleOwnerKeepsItsPrefixWhateverTheMeanIs) {
  std::vector<RouteCandidate> candidates = fleet(4);
  const std::size_t first = *choose_route(candidates, 9, 0);
  candidates[first].running = 7;
  EXPECT_EQ(choose_route(candidates, 9, 0), first);
  candidates[first].running = 8;
  EXPECT_NE(choose_route(candidates, 9, 0), first);
}

TEST(RouteChoice, AnOwnerUnderPressureSpillsToTheNextAndGetsItsKeyBack) {
  std::vector<RouteCandidate> candidates = fleet(3);
  for (RouteCandidate& candidate : candidates) candidate.pressure = 0.3;
  const std::size_t first = *choose_route(candidates, 9, 0);
  candidates[first].pressure = 0.9;
  const std::size_t second = *choose_route(candidates, 9, 0);
  EXPECT_NE(second, first);
  candidates[first].pressure = 0.4;
  EXPECT_EQ(choose_route(candidates, 9, 0), first);
}

TEST(RouteChoice, WithoutAKeyItStaysHereUnlessAnotherIsMuchBetter) {
  std::vector<RouteCandidate> candidates = fleet(3, 4);
  for (std::uint64_t draw = 0; draw < 20; ++draw) {
    EXPECT_EQ(choose_route(candidates, std::nullopt, draw), 0U);
  }
  candidates[0].running = 6;
  for (std::uint64_t draw = 0; draw < 20; ++draw) {
    EXPECT_NE(choose_route(candidates, std::nullopt, draw), 0U);
  }
  candidates[0].running = 4;
  candidates[0].pressure = 0.9;
  candidates[1].pressure = candidates[2].pressure = 0.2;
  EXPECT_NE(choose_route(candidates, std::nullopt, 3), 0U);
}

TEST(RouteChoice, WhereThisPodTakesNothingTheBetterOfTwoOthersDoes) {
  std::vector<RouteCandidate> candidates = fleet(5, 10);
  candidates.erase(candidates.begin());
  candidates[2].running = 0;
  int best = 0;
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    best += choose_route(candidates, std::nullopt, random_bits(kSeed, draw)) == 2U ? 1 : 0;
  }
  EXPECT_GT(best, 60) << "a quarter by chance, almost a half by looking at two";
}

}  // namespace
}  // namespace kantha::noded
