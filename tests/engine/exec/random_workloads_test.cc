#include <gtest/gtest.h>

#include "tests/engine/exec/random_workload.h"

/// 8,000 workloads beyond the 2,000 of engine_property_test.cc.
namespace kantha::exec {
namespace {

TEST(RandomWorkloads, TokensDoNotDependOnNeighboursChunksHitsForksWindowsOrPreemption) {
  constexpr std::uint64_t kFirst = 2001;
  constexpr std::uint64_t kLast = 10'000;
  expect_everything_happened(run_random_workloads(kFirst, kLast), kLast - kFirst + 1);
}

}  // namespace
}  // namespace kantha::exec
