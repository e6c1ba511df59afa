#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

/// How requests become batches.
namespace kantha::sim {

enum class PolicyKind : std::uint8_t {
  /// Batches of `slots` in order of arrival; a batch runs until its longest member has finished.
  /// The last one may be smaller.
  kStatic,
  /// The same, but a batch starts as soon as the engine is free and either `slots` wait or the
  /// first of them has waited for max_wait.
  kDynamic,
  /// The engine's own scheduler (engine/sched), which decides anew at every step.
  kContinuous,
};

struct Policy {
  PolicyKind kind = PolicyKind::kContinuous;
  Duration max_wait = std::chrono::milliseconds(100);  ///< kDynamic
};

std::string_view name_of(PolicyKind kind);

/// kInvalidArgument lists the known ones.
Result<PolicyKind> policy_from_name(std::string_view name);

}  // namespace kantha::sim
