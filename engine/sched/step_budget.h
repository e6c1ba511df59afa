#pragma once

#include <cstdint>

#include "base/clock.h"
#include "engine/sched/step_cost.h"

/// How many tokens the next step may compute, from what steps cost here.
namespace kantha::sched {

/// What the next step has to do.
struct StepLoad {
  std::int32_t decodes = 0;          ///< streams that wait for their next token
  std::int64_t decode_context = 0;   ///< positions that they attend to, all together
  std::int32_t prefill_context = 0;  ///< tokens before the next prompt token, about
  std::int64_t prompts = 0;          ///< requests that wait for a first token and have a slot
};

/// A step may last until the streams that decode have waited for the ITL target. Without a target
/// it is 1.6 times a step that only decodes, so that a prompt beside them does not double their
/// pauses; where more than three in eight of all requests wait for a first token, prompts get
/// their share of the time, at most three quarters of it: few streams must not hold up many
/// prompts. A step of 15 ms, 66 tokens a second, is never too long.
/// Where nobody decodes a step takes as many tokens as it can in a quarter of a second, at least
/// 32: an arrival or an abort waits for its end. Pure arithmetic; one thread.
class StepBudget {
 public:
  /// `rows_max` tokens fit into a step; `itl_target` zero: by the shares above.
  StepBudget(std::int32_t rows_max, Duration itl_target);

  void observe(const StepShape& shape, Duration took);

  /// Rows of the next step, decodes included, ≤ rows_max. Every decode has its row, and prompts get
  /// at least 8 whatever the target that was set, at least 1 without: they must move. Before
  /// anything is measured, rows_max / 4.
  std::int32_t tokens(const StepLoad& load) const;

  /// Estimate of a step with these decodes only; zero = not known yet. `context`: the positions
  /// that they attend to, all together.
  Duration decode_step(std::int32_t decodes, std::int64_t context) const;
  /// Rate of the last few thousand prompt tokens, of steps that were mostly prompts and not small;
  /// 0 = not known until 512 of them were seen. Measured, because an estimate from small steps may
  /// be wrong many times over.
  double prefill_tokens_per_second() const;

 private:
  std::int32_t prompt_tokens(const StepLoad& load) const;

  std::int32_t rows_max_;
  double target_seconds_;
  StepCost cost_;
  double prompt_rows_ = 0;     ///< of steps that count, fading
  double prompt_seconds_ = 0;  ///< that they took
};

}  // namespace kantha::sched
