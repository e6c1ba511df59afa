#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "engine/sim/policy.h"

/// How requests of given lengths share the slots of an engine, step by step.
namespace kantha::cli {

struct StepPicture {
  std::int64_t steps = 0;
  double slots_used = 0;  ///< share of steps × slots that gave a token
  /// A line per request, a character per step: # gives a token, . holds its slot for nothing.
  /// Empty when it would be more than 40 lines or 100 steps.
  std::string picture;
};

Result<StepPicture> step_picture(std::span<const std::int32_t> lengths, std::int32_t slots,
                                 const sim::Policy& policy);

}  // namespace kantha::cli
