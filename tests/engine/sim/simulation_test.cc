#include "engine/sim/simulation.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "engine/sim/report.h"

/// Whole runs: the known examples, queueing theory, memory, and repeatability.
namespace kantha::sim {
namespace {

RunOptions unit_options(std::int32_t slots) {
  RunOptions options;
  options.cost = CostModel::unit();
  options.sequences_max = slots;
  options.check_integrity = true;
  return options;
}

TEST(SimulationTest, LengthsTakeTheKnownCountsOfSteps) {
  const struct {
    std::vector<std::int32_t> lengths;
    std::int32_t slots;
    std::int64_t batch_steps;
    std::int64_t continuous_steps;
  } cases[] = {{{4, 2, 3, 2, 1}, 3, 6, 4},
               {{100, 5, 5, 5, 5, 5, 5, 5}, 4, 105, 100},
               {{7}, 4, 7, 7},
               {{3, 3, 3, 3}, 1, 12, 12}};
  for (const auto& c : cases) {
    const Workload workload = fixed_outputs(c.lengths);
    const auto steps = [&](PolicyKind kind) {
      return run(workload, {.kind = kind}, unit_options(c.slots)).value().step_count;
    };
    EXPECT_EQ(steps(PolicyKind::kStatic), c.batch_steps);
    EXPECT_EQ(steps(PolicyKind::kDynamic), c.batch_steps);
    EXPECT_EQ(steps(PolicyKind::kContinuous), c.continuous_steps);
  }
}

}  // namespace
}  // namespace kantha::sim
