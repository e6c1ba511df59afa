#include "engine/sched/step_budget.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace kantha::sched {
namespace {

/// Beside a target that somebody set, perhaps shorter than a decode step.
constexpr std::int32_t kPromptRowsMin = 8;
/// Of a step's time, without a target: 1 / (1 - 0.375) = 1.6 decode steps at least, 4 at most.
constexpr double kPromptShareMin = 0.375;
constexpr double kPromptShareMax = 0.75;
/// Nobody reads faster than this.
constexpr double kPauseSeconds = 0.015;
constexpr double kPromptStepSeconds = 0.25;
constexpr double kStepSecondsMax = 3600;  // a machine that stood still teaches nonsense
constexpr std::int32_t kPromptStepRowsMin = 32;
constexpr std::int32_t kPromptStepRows = 32;  // a step that says something of the rate
constexpr double kPromptRowsKnown = 512;
constexpr double kPromptRowsMemory = 4096;

/// Largest n ≥ 0 with n · row + context token · (1 + … + n, each after `before`) ≤ `seconds`.
double rows_within(double seconds, const StepCost& cost, std::int32_t before) {
  if (seconds <= 0) return 0;
  const double square = cost.per_context_token() / 2;
  const double linear = cost.per_row() + cost.per_context_token() * before + square;
  if (linear <= 0) return HUGE_VAL;
  // Written so that a square of 0 is no special case.
  return 2 * seconds / (linear + std::sqrt(linear * linear + 4 * square * seconds));
}

/// How long a step beside decodes may last that take `alone` seconds, where no target was set.
double seconds_beside(const StepLoad& load, double alone) {
  const auto prompts = static_cast<double>(load.prompts);
  const double share =
      std::clamp(prompts / (prompts + load.decodes), kPromptShareMin, kPromptShareMax);
  return std::max(alone / (1 - share), kPauseSeconds);
}

}  // namespace

StepBudget::StepBudget(std::int32_t rows_max, Duration itl_target)
    : rows_max_(rows_max), target_seconds_(std::chrono::duration<double>(itl_target).count()) {
  CHECK(rows_max >= 1 && itl_target >= Duration::zero());
}

void StepBudget::observe(const StepShape& shape, Duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  cost_.observe(shape, seconds);
  const std::int32_t prompt_rows = shape.rows - shape.decodes;
  if (prompt_rows < kPromptStepRows || prompt_rows < 3 * shape.decodes || seconds <= 0) return;
  const double keep = std::exp(-prompt_rows / kPromptRowsMemory);
  prompt_rows_ = prompt_rows_ * keep + prompt_rows;
  prompt_seconds_ = prompt_seconds_ * keep + seconds;
}

/// Whoever comes or leaves waits for the step that runs: it may be long, but not very long.
std::int32_t StepBudget::prompt_tokens(const StepLoad& load) const {
  if (!cost_.measured()) return rows_max_;
  const double rows =
      rows_within(kPromptStepSeconds - cost_.estimate({}), cost_, load.prefill_context);
  const std::int32_t least = std::min(kPromptStepRowsMin, rows_max_);
  return static_cast<std::int32_t>(std::clamp<double>(rows, least, rows_max_));
}

std::int32_t StepBudget::tokens(const StepLoad& load) const {
  if (load.decodes == 0) return prompt_tokens(load);
  double prompt_rows = rows_max_ / 4 - load.decodes;
  double least = kPromptRowsMin;
  if (cost_.measured()) {
    const double alone = cost_.estimate(
        {.rows = load.decodes, .decodes = load.decodes, .context_tokens = load.decode_context});
    const double target = target_seconds_ > 0 ? target_seconds_ : seconds_beside(load, alone);
    prompt_rows = rows_within(target - alone, cost_, load.prefill_context);
    // What a decode step leaves always moves a prompt; deep in a long one that is a few rows.
    if (target_seconds_ == 0) least = 1;
  }
  prompt_rows = std::clamp<double>(prompt_rows, least, rows_max_ + least);
  return std::min(rows_max_, load.decodes + static_cast<std::int32_t>(prompt_rows));
}

Duration StepBudget::decode_step(std::int32_t decodes, std::int64_t context) const {
  if (!cost_.measured()) return Duration::zero();
  const double seconds =
      cost_.estimate({.rows = decodes, .decodes = decodes, .context_tokens = context});
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::min(seconds, kStepSecondsMax)));
}

double StepBudget::prefill_tokens_per_second() const {
  return prompt_rows_ < kPromptRowsKnown ? 0 : prompt_rows_ / prompt_seconds_;
}

}  // namespace kantha::sched
