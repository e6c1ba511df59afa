#include "operator/serving/last_status.h"

#include "base/json_text.h"
#include "operator/serving/timestamp.h"

namespace kantha::serving {
namespace {

std::optional<std::int64_t> count(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number_integer()) return std::nullopt;
  const auto value = found->get<std::int64_t>();
  return value >= 0 && value <= 10'000 ? std::optional(value) : std::nullopt;
}

void read_condition(const Json& entry, LastStatus& out) {
  if (!entry.is_object()) return;
  const std::string status = text_at(entry, "status");
  LastCondition condition;
  condition.since = text_at(entry, "lastTransitionTime");
  if (!timestamp_from_text(condition.since)) return;
  if (status == "True") {
    condition.status = ConditionStatus::kTrue;
  } else if (status == "False") {
    condition.status = ConditionStatus::kFalse;
  } else if (status != "Unknown") {
    return;
  }
  out.conditions[text_at(entry, "type")] = std::move(condition);
}

}  // namespace

LastStatus last_status_of(const Json& status) {
  LastStatus out;
  out.desired_replicas = count(status, "desiredReplicas");
  out.updated_replicas = count(status, "updatedReplicas").value_or(0);
  out.current_revision = text_at(status, "currentRevision");
  out.target_revision = text_at(status, "targetRevision");
  const auto decisions = status.find("decisions");
  if (decisions != status.end()) out.decisions = decisions_from_json(*decisions);
  const auto conditions = status.find("conditions");
  if (conditions == status.end() || !conditions->is_array()) return out;
  for (const Json& entry : *conditions) read_condition(entry, out);
  return out;
}

}  // namespace kantha::serving
