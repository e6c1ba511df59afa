#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "engine/sim/report.h"
#include "engine/sim/simulation.h"

/// KV memory: what preemption wastes and what blocks waste.
namespace kantha::sim {
namespace {

using namespace std::chrono_literals;

std::int32_t peak_blocks(const Workload& workload, RunOptions options) {
  options.block_count = 1 << 16;
  options.keep_steps = true;
  const Trace trace = run(workload, {}, options).value();
  std::int32_t peak = 0;
  for (const StepRecord& step : trace.steps) peak = std::max(peak, step.blocks_active);
  return peak;
}

/// A pool of 40 % of what the workload would take.
RunOptions tight_options(const Workload& workload) {
  RunOptions options;
  options.sequences_max = 32;
  options.block_count = 2 * peak_blocks(workload, options) / 5;
  return options;
}

Report served(const Workload& workload, const RunOptions& options) {
  const auto trace = run(workload, {}, options);
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  const Report got = report(trace.value(), {});
  EXPECT_EQ(got.outcomes[static_cast<std::size_t>(Outcome::kDone)], std::ssize(workload.arrivals));
  return got;
}

/// Newest first and starting whatever fits now is what other engines do.
RunOptions newest_first(RunOptions options) {
  options.victims = sched::VictimRule::kNewest;
  options.foresight = false;
  return options;
}

struct Mix {
  const char* shape;
  double rate_per_second;
  std::int32_t prefixes = 0;
};

TEST(MemoryTest, APoolOf40PercentWastesAtMostHalfOfWhatNewestFirstWastes) {
  const Mix mixes[] = {{"sharegpt", 2},
                       {"sharegpt", 4},
                       {"sharegpt", 4, /*prefixes=*/4},
                       {"100~1:300~0.8", 3},
                       {"800~0.5:400~0.5", 2}};
  std::int64_t preemptions = 0;
  for (const Mix& mix : mixes) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      RequestShape shape = shape_from_text(mix.shape).value();
      shape.prefixes = mix.prefixes;
      shape.prefix_tokens = 256;
      const Workload workload = poisson(shape, mix.rate_per_second, 400, seed);
      const RunOptions options = tight_options(workload);
      const Report ours = served(workload, options);
      const Report newest = served(workload, newest_first(options));
      preemptions += ours.preemptions;
      std::printf(
          "%-16s %.1f/s %d prefixes, seed %llu, %4d blocks: preempted %3lld, %3lld; "
          "recomputed %5.2f %%, %5.2f %%; %4.0f s, %4.0f s; TTFT p50 %5.1f s, %5.1f s\n",
          mix.shape, mix.rate_per_second, mix.prefixes, static_cast<unsigned long long>(seed),
          options.block_count, static_cast<long long>(ours.preemptions),
          static_cast<long long>(newest.preemptions), ours.recompute_share * 100,
          newest.recompute_share * 100, ours.duration_s, newest.duration_s, ours.ttft.p50,
          newest.ttft.p50);
      EXPECT_GT(newest.preemptions, 20);
      EXPECT_LE(ours.recompute_share, newest.recompute_share / 2);
      EXPECT_LE(ours.duration_s, 1.03 * newest.duration_s) << "and nobody pays for it";
    }
  }
  EXPECT_GT(preemptions, 0);
}

TEST(MemoryTest, TheBooksBalanceAfterEveryStepOfATightPool) {
  RequestShape shape = shape_from_text("60~1:60~1").value();
  shape.prefixes = 3;
  shape.prefix_tokens = 40;
  const Workload workload = poisson(shape, 12, 300, 5);
  RunOptions options = tight_options(workload);
  options.check_integrity = true;
  EXPECT_GT(served(workload, newest_first(options)).preemptions, 20);
  served(workload, options);
}

TEST(MemoryTest, BlocksOf16WasteLessThan4Percent) {
  const Workload workload = poisson(sharegpt_shape(), 1.2, 1500, 3);
  double last = 0;
  for (const std::int32_t block_size : {1, 8, 16, 32, 64}) {
    RunOptions options;
    options.sequences_max = 32;
    options.block_size = block_size;
    options.block_count = 65'536 / block_size;
    const Report got = served(workload, options);
    std::printf("block size %2d: waste mean %.2f %%, p95 %.2f %%\n", block_size,
                got.waste_mean * 100, got.waste_p95 * 100);
    EXPECT_GE(got.waste_mean, last);
    last = got.waste_mean;
    if (block_size == 1) EXPECT_EQ(got.waste_mean, 0);
    if (block_size == 16) {
      EXPECT_LT(got.waste_mean, 0.04);
      EXPECT_LT(got.waste_p95, 0.05);
    }
    if (block_size == 64) EXPECT_GT(got.waste_mean, 0.04) << "so the measure measures";
  }
}

}  // namespace
}  // namespace kantha::sim
