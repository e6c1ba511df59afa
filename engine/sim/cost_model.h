#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

/// What a step costs on a machine: the clock of the simulated world.
namespace kantha::sim {

/// What a step computes.
struct StepWork {
  std::int64_t rows = 0;            ///< tokens
  std::int64_t output_rows = 0;     ///< rows whose logits are computed and sampled
  std::int64_t context_tokens = 0;  ///< keys that the rows read, summed over the rows
};

/// A step = fixed + rows · row + output rows · output_row + context tokens · context.
///
/// The defaults are SmolLM2-135M (Q4_1) on 2 vCPUs, from the engine's own benchmark at a context of
/// 200: a prefill of 512 tokens at about 1,800 tokens/s, a step with one decode 6.3 ms, with 16
/// decodes 21 ms. A row that gives logits costs more than one that does not, because the output
/// matrix is a fifth of the model. Attention follows from a prompt of 4,096 tokens, which takes 13
/// to 16 times as long as one of 512.
struct CostModel {
  double fixed_ms = 5.3;
  double row_ms = 0.47;
  double output_row_ms = 0.45;
  double context_us = 0.3;

  Duration step(const StepWork& work) const;
  /// One time unit (1 ms) a step, whatever it computes.
  static CostModel unit() { return {1, 0, 0, 0}; }
};

/// Reads "fixed_ms=5.3,row_ms=0.47,output_row_ms=0.45,context_us=0.3"; what is not named keeps its
/// default. kInvalidArgument names key, value and range.
Result<CostModel> cost_model_from_text(std::string_view text);

/// The same text of a model.
std::string to_text(const CostModel& cost);

}  // namespace kantha::sim
