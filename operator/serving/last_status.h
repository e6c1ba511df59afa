#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/serving/decision.h"
#include "operator/serving/plan.h"

/// What the operator wrote into an object's status the last time. Pure; any thread.
namespace kantha::serving {

struct LastCondition {
  ConditionStatus status = ConditionStatus::kUnknown;
  std::string since;  ///< lastTransitionTime as it was written
};

struct LastStatus {
  std::optional<std::int64_t> desired_replicas;
  std::int64_t updated_replicas = 0;
  std::string current_revision;
  std::string target_revision;
  std::map<std::string, LastCondition> conditions;
  std::vector<Decision> decisions;
};

/// Reads status_from_text's object. What is missing or wrong (a person may have edited it) counts
/// as never written.
LastStatus last_status_of(const Json& status);

}  // namespace kantha::serving
