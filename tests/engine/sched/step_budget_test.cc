#include "engine/sched/step_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace kantha::sched {
namespace {

constexpr std::int32_t kRowsMax = 256;

/// A machine whose steps cost what they cost, times noise.
struct Machine {
  double fixed = 0.004;
  double per_row = 0.001;
  double per_context = 1e-7;
  double noise = 0.03;
  double outlier_share = 0;
  std::mt19937_64 random{1};

  double exact(const StepShape& shape) const {
    return fixed + per_row * shape.rows + per_context * static_cast<double>(shape.context_tokens);
  }
  double measure(const StepShape& shape) {
    std::normal_distribution<double> usual(1, noise);
    const bool slow = std::uniform_real_distribution<double>(0, 1)(random) < outlier_share;
    return exact(shape) * std::max(0.5, usual(random)) * (slow ? 5 : 1);
  }
};

StepShape decode_step(std::int32_t decodes, std::int64_t context) {
  return {.rows = decodes, .decodes = decodes, .context_tokens = decodes * context};
}

StepShape prompt_step(std::int32_t decodes, std::int32_t rows, std::int32_t before) {
  StepShape shape = decode_step(decodes, 500);
  shape.rows += rows;
  shape.context_tokens += std::int64_t{rows} * before + std::int64_t{rows} * (rows + 1) / 2;
  return shape;
}

/// Steps as an engine under mixed load has them.
StepShape mixed_step(std::mt19937_64& random) {
  const auto decodes = static_cast<std::int32_t>(random() % 9);
  if (decodes > 0 && random() % 3 > 0) {
    return decode_step(decodes, static_cast<std::int64_t>(random() % 1500));
  }
  return prompt_step(decodes, static_cast<std::int32_t>(8 + random() % 120),
                     static_cast<std::int32_t>(random() % 2000));
}

void run(StepCost& cost, Machine& machine, int steps) {
  for (int i = 0; i < steps; ++i) {
    const StepShape shape = mixed_step(machine.random);
    cost.observe(shape, machine.measure(shape));
  }
}

void expect_close(const StepCost& cost, const Machine& machine, double tolerance,
                  const char* when) {
  const StepShape shapes[] = {decode_step(1, 300), decode_step(8, 800), prompt_step(0, 128, 0),
                              prompt_step(4, 64, 1000)};
  // What is lost in the noise of a big step cannot be learnt from it.
  const double least = 0.01 * machine.exact(prompt_step(0, 128, 1000));
  for (const StepShape& shape : shapes) {
    const double exact = machine.exact(shape);
    EXPECT_NEAR(cost.estimate(shape), exact, tolerance * exact + least)
        << when << ", rows " << shape.rows;
  }
}

TEST(StepCost, ConvergesWithinThirtyStepsOnMachinesOfEveryKind) {
  struct Case {
    const char* name;
    Machine machine;
  };
  const Case cases[] = {
      {"a small CPU", {}},
      {"a GPU: the fixed part rules", {.fixed = 0.008, .per_row = 2e-6, .per_context = 1e-9}},
      {"rows alone", {.fixed = 0, .per_row = 0.02, .per_context = 0}},
      {"long contexts rule", {.fixed = 0.001, .per_row = 1e-4, .per_context = 2e-6}},
  };
  for (const Case& c : cases) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Machine machine = c.machine;
      machine.random.seed(seed);
      StepCost cost;
      run(cost, machine, 30);
      expect_close(cost, machine, 0.25, c.name);
      run(cost, machine, 100);
      expect_close(cost, machine, 0.2, c.name);
    }
  }
}

TEST(StepCost, AColdFirstStepIsForgottenSoon) {
  Machine machine;
  StepCost cost;
  cost.observe(prompt_step(0, 64, 0), 30 * machine.exact(prompt_step(0, 64, 0)));
  run(cost, machine, 30);
  expect_close(cost, machine, 0.25, "weights were read from disk");
}

TEST(StepCost, StepsFarOutDoNotThrowItOff) {
  Machine machine;
  StepCost cost;
  run(cost, machine, 60);
  const double before = cost.estimate(prompt_step(4, 64, 1000));
  cost.observe(prompt_step(4, 64, 1000), 5 * machine.exact(prompt_step(4, 64, 1000)));
  EXPECT_NEAR(cost.estimate(prompt_step(4, 64, 1000)), before, 0.12 * before) << "one of them";
  machine.outlier_share = 0.1;
  run(cost, machine, 300);
  expect_close(cost, machine, 0.3, "every tenth");
}

TEST(StepCost, FollowsDriftAndAMachineOfHalfTheSpeed) {
  Machine machine;
  StepCost cost;
  run(cost, machine, 60);
  for (int i = 0; i < 200; ++i) {
    machine.per_row *= 1.004;
    machine.fixed *= 1.004;
    run(cost, machine, 1);
  }
  expect_close(cost, machine, 0.2, "drift to 2.2 times");
  for (const double factor : {2.0, 0.5}) {
    machine.fixed *= factor;
    machine.per_row *= factor;
    machine.per_context *= factor;
    run(cost, machine, 30);
    expect_close(cost, machine, 0.2, "30 steps after a change of speed");
  }
}

TEST(StepCost, KeepsWhatALongRunOfEqualStepsSaysNothingAbout) {
  Machine machine;
  StepCost cost;
  run(cost, machine, 60);
  for (int i = 0; i < 5000; ++i) {
    cost.observe(decode_step(4, 600), machine.measure(decode_step(4, 600)));
  }
  const double exact = machine.exact(prompt_step(4, 64, 500));
  EXPECT_NEAR(cost.estimate(prompt_step(4, 64, 500)), exact, 0.5 * exact);
}

TEST(StepCost, NoCoefficientIsEverNegative) {
  Machine machine{.noise = 0.5, .outlier_share = 0.2};
  StepCost cost;
  for (int i = 0; i < 2000; ++i) {
    run(cost, machine, 1);
    ASSERT_GE(cost.per_row(), 0);
    ASSERT_GE(cost.per_context_token(), 0);
    ASSERT_GE(cost.estimate({}), 0) << "the fixed part";
  }
}

Duration seconds(double value) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
}

StepBudget taught(Machine& machine, Duration target) {
  StepBudget budget(kRowsMax, target);
  for (int i = 0; i < 100; ++i) {
    const StepShape shape = mixed_step(machine.random);
    budget.observe(shape, seconds(machine.measure(shape)));
  }
  return budget;
}

TEST(StepBudget, BeforeAnythingIsMeasuredAQuarterBesideDecodes) {
  const StepBudget budget(kRowsMax, {});
  EXPECT_EQ(budget.tokens({}), kRowsMax) << "nobody decodes";
  EXPECT_EQ(budget.tokens({.decodes = 4}), kRowsMax / 4);
  EXPECT_EQ(budget.tokens({.decodes = 64}), 64 + 8) << "prompts move";
  EXPECT_EQ(budget.tokens({.decodes = 300}), kRowsMax) << "and no more than fit";
  EXPECT_EQ(budget.decode_step(4, 100), Duration::zero());
  EXPECT_EQ(budget.prefill_tokens_per_second(), 0);
  EXPECT_EQ(StepBudget(1, {}).tokens({.decodes = 1}), 1);
}

TEST(StepBudget, AStepOfTheBudgetEndsAboutAtTheTarget) {
  Machine machine;
  for (const double target : {0.0, 0.04, 0.08}) {
    const StepBudget budget = taught(machine, seconds(target));
    for (const std::int32_t before : {0, 500, 4000}) {
      const StepLoad load{.decodes = 8, .decode_context = 8 * 500, .prefill_context = before};
      const double alone = machine.exact(decode_step(8, 500));
      const double wanted = target > 0 ? target : 1.6 * alone;
      const std::int32_t rows = budget.tokens(load) - 8;
      EXPECT_NEAR(machine.exact(prompt_step(8, rows, before)), wanted, 0.2 * wanted)
          << target << ", after " << before;
    }
  }
}

TEST(StepBudget, PromptsGetTheirShareOfTheTimeBesideDecodes) {
  struct Case {
    const char* name;
    std::int32_t decodes;
    std::int64_t prompts;
    double stretch;  ///< of a step that only decodes
  };
  constexpr Case kCases[] = {
      {"one prompt beside many streams", 16, 1, 1.6},
      {"as many as three in eight", 10, 6, 1.6},
      {"as many as streams", 8, 8, 2},
      {"twice as many", 8, 16, 3},
      {"a line of prompts behind few streams", 8, 1000, 4},
  };
  for (const Case& c : kCases) {
    Machine machine;
    const StepBudget budget = taught(machine, {});
    const double alone = machine.exact(decode_step(c.decodes, 500));
    const std::int32_t rows =
        budget.tokens(
            {.decodes = c.decodes, .decode_context = c.decodes * 500, .prompts = c.prompts}) -
        c.decodes;
    const double took = machine.exact(prompt_step(c.decodes, rows, 0));
    EXPECT_NEAR(took, c.stretch * alone, 0.2 * c.stretch * alone) << c.name;
  }
}

TEST(StepBudget, AStepOfFifteenMillisecondsIsNeverTooLong) {
  Machine machine;
  machine.fixed /= 10;
  machine.per_row /= 10;
  machine.per_context /= 10;
  const StepBudget budget = taught(machine, {});
  const std::int32_t rows = budget.tokens({.decodes = 2, .decode_context = 1000, .prompts = 1}) - 2;
  EXPECT_TRUE(rows + 2 == kRowsMax || machine.exact(prompt_step(2, rows, 0)) > 0.012) << rows;
}

TEST(StepBudget, WhereNobodyDecodesAStepIsAsLongAsAnArrivalCanWait) {
  struct Case {
    const char* name;
    double speed;  ///< of the machine, as times its costs
    std::int32_t before;
    double shortest, longest;  ///< seconds of the step
  };
  constexpr Case kCases[] = {
      {"a fast machine fills the step", 0.5, 0, 0, 0.25},
      {"a slow one stops in time", 6, 0, 0.2, 0.3},
      {"deep in a prompt too", 6, 3000, 0.2, 0.3},
  };
  for (const Case& c : kCases) {
    Machine machine;
    machine.fixed *= c.speed;
    machine.per_row *= c.speed;
    machine.per_context *= c.speed;
    const StepBudget budget = taught(machine, {});
    const std::int32_t rows = budget.tokens({.prefill_context = c.before});
    const double took = machine.exact(prompt_step(0, rows, c.before));
    EXPECT_TRUE(rows == kRowsMax || took >= c.shortest) << c.name << ": " << took;
    EXPECT_TRUE(rows == 32 || took <= c.longest) << c.name << ": " << took << ", " << rows;
    EXPECT_EQ(rows == kRowsMax, c.speed < 1) << c.name << ": " << rows;
  }
}

TEST(StepBudget, DeepInALongPromptAFewRowsAreEnough) {
  Machine machine;
  const StepBudget budget = taught(machine, {});
  const double alone = machine.exact(decode_step(8, 500));
  // One row reads so much that eight of them would take longer than the decodes.
  std::int32_t before = 1000;
  while (machine.exact(prompt_step(8, 8, before)) < 2.5 * alone) before += 1000;
  const std::int32_t rows =
      budget.tokens({.decodes = 8, .decode_context = 4000, .prefill_context = before}) - 8;
  EXPECT_GE(rows, 1);
  EXPECT_LT(machine.exact(prompt_step(8, rows, before)), 2 * alone);
}

TEST(StepBudget, PromptsMoveEvenWhereDecodesAloneMissTheTarget) {
  Machine machine;
  const StepBudget budget = taught(machine, seconds(0.001));
  EXPECT_EQ(budget.tokens({.decodes = 8, .decode_context = 4000}), 8 + 8);
  EXPECT_GE(budget.tokens({}), 200) << "nobody decodes";
}

TEST(StepBudget, AMachineThatStoodStillGivesNoAbsurdTimes) {
  StepBudget budget(kRowsMax, {});
  budget.observe(decode_step(1, 10), std::chrono::hours(24 * 365));
  EXPECT_LE(budget.decode_step(64, 64 * 100'000), std::chrono::hours(1));
  EXPECT_GE(budget.tokens({.decodes = 4, .decode_context = 4000}), 5);
}

TEST(StepBudget, TheRateIsThatOfStepsThatWereMostlyPrompts) {
  StepBudget budget(kRowsMax, {});
  for (int i = 0; i < 500; ++i) {
    budget.observe(prompt_step(0, 16, 0), seconds(1));
    budget.observe(prompt_step(24, 64, 0), seconds(1));
    budget.observe(decode_step(8, 10), seconds(1));
  }
  EXPECT_EQ(budget.prefill_tokens_per_second(), 0) << "small steps and decodes say nothing";
  for (int i = 0; i < 3; ++i) budget.observe(prompt_step(0, 128, 0), seconds(0.25));
  EXPECT_EQ(budget.prefill_tokens_per_second(), 0) << "384 tokens are too few";
  budget.observe(prompt_step(0, 128, 0), seconds(0.25));
  budget.observe(prompt_step(0, 128, 0), seconds(0.25));
  EXPECT_NEAR(budget.prefill_tokens_per_second(), 512, 1);
  for (int i = 0; i < 200; ++i) budget.observe(prompt_step(0, 256, 0), seconds(0.25));
  EXPECT_NEAR(budget.prefill_tokens_per_second(), 1024, 10) << "the last few thousand count";
}

TEST(StepBudget, TellsTheRates) {
  Machine machine;
  const StepBudget budget = taught(machine, {});
  const double decode = std::chrono::duration<double>(budget.decode_step(8, 4000)).count();
  EXPECT_NEAR(decode, machine.exact(decode_step(8, 500)), 0.15 * decode);
  const double rate =
      kRowsMax / (machine.fixed + kRowsMax * (machine.per_row + 1024 * machine.per_context));
  EXPECT_NEAR(budget.prefill_tokens_per_second(), rate, 0.25 * rate);
}

}  // namespace
}  // namespace kantha::sched
