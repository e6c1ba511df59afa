#include "operator/serving/status_of.h"

#include <utility>

#include "operator/serving/bounded_text.h"
#include "operator/serving/children.h"
#include "operator/serving/last_status.h"
#include "operator/serving/plan_rollout.h"
#include "operator/serving/timestamp.h"

namespace kantha::serving {
namespace {

constexpr std::size_t kMessageMax = 1024;

std::string count_text(std::int64_t count, const char* one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

/// "4 × nvidia.com/gpu, 2 CPUs and 4Gi memory"
std::string need_text(const ResourcesSpec& resources) {
  std::vector<std::string> parts;
  if (resources.accelerator.count > 0) {
    return std::to_string(resources.accelerator.count) + " × " +
           resources.accelerator.resource_name;
  }
  if (!resources.cpu.empty()) parts.push_back("cpu " + resources.cpu);
  if (!resources.memory.empty()) parts.push_back("memory " + resources.memory);
  if (parts.empty()) return "a node";
  return parts.size() == 1 ? parts[0] : parts[0] + " and " + parts[1];
}

Condition capacity_condition(const ClusterServing& owner, const CapacityNeed& need) {
  if (need.pods == 0) {
    return {"CapacityBlocked", ConditionStatus::kFalse, "AllScheduled", "no pod waits for a node"};
  }
  const std::string who = need.pods == 1 ? std::string() : count_text(need.pods, "pod") + " wait: ";
  const std::string each = need.pods == 1 ? "needs " : "each needs ";
  std::string message = who + each + need_text(owner.serving.spec.resources) + ": " + need.message;
  const char* reason = "Unschedulable";
  if (need.news.is == ScaleUpNews::Is::kTriggered) {
    reason = "TriggeredScaleUp";
    message += "; a node is on its way: " + need.news.message;
  } else if (need.news.is == ScaleUpNews::Is::kRefused) {
    message += "; the node autoscaler adds none: " + need.news.message;
  }
  return {"CapacityBlocked", ConditionStatus::kTrue, reason, std::move(message)};
}

Condition scaling_active(const ModelServing& serving, const std::optional<Condition>& told) {
  if (!serving.spec.autoscaling) {
    return {"ScalingActive", ConditionStatus::kFalse, "NotConfigured",
            "spec.autoscaling is not set; spec.replicas decides"};
  }
  if (told) return *told;
  return {"ScalingActive", ConditionStatus::kUnknown, "NotYet",
          "nobody has looked at spec.autoscaling yet"};
}

/// Adds what the planner does not see to its condition.
Condition degraded_condition(Condition planned, const ClusterObservation& seen,
                             const std::vector<Trouble>& troubles) {
  std::string reason;
  std::string message;
  const auto add = [&](const std::string& why, const std::string& what) {
    if (reason.empty()) reason = why;
    message += (message.empty() ? "" : "; ") + what;
  };
  for (const Trouble& trouble : troubles) add(trouble.reason, trouble.message);
  for (const ForeignPod& pod : seen.foreign) {
    add("NameTaken", "pod " + pod.name + " is not ours and is left alone: it " + pod.why);
  }
  if (!seen.tokenizer_skew.empty()) add(kTokenizerSkew, seen.tokenizer_skew);
  if (message.empty()) return planned;
  if (planned.status == ConditionStatus::kTrue && planned.reason != "NameTaken") {
    message += "; " + planned.message;
  }
  return {"Degraded", ConditionStatus::kTrue, reason, message};
}

Json condition_json(const Condition& condition, const LastStatus& last, std::int64_t generation,
                    WallTime now) {
  const auto before = last.conditions.find(condition.type);
  const bool same = before != last.conditions.end() && before->second.status == condition.status;
  return {{"type", condition.type},
          {"status", condition_status_name(condition.status)},
          {"reason", condition.reason},
          {"message", bounded_text(condition.message, kMessageMax)},
          {"lastTransitionTime", same ? before->second.since : timestamp_text(now)},
          {"observedGeneration", generation}};
}

std::vector<Condition> all_conditions(const ClusterServing& owner, const ClusterObservation& seen,
                                      const Plan& plan, const std::vector<Trouble>& troubles) {
  std::vector<Condition> out;
  for (const Condition& planned : plan.conditions) {
    out.push_back(planned.type == "Degraded" ? degraded_condition(planned, seen, troubles)
                                             : planned);
  }
  out.push_back(capacity_condition(owner, seen.capacity));
  out.push_back(weights_condition(seen.any_ready, seen.weights));
  out.push_back(scaling_active(owner.serving, seen.scaling));
  out.push_back(gate_condition(plan.rollout.value_or(seen.rollout.state), owner.serving));
  return out;
}

void set_revisions(const ClusterObservation& seen, const Plan& plan, const LastStatus& last,
                   Json& status) {
  const std::string& whole = seen.observed.target.whole;
  const std::string target = whole.empty() ? last.target_revision : short_revision(whole);
  const bool everywhere = plan.settled && plan.counts.updated == plan.counts.wanted &&
                          plan.counts.wanted > 0 && !whole.empty();
  const std::string current = everywhere ? target : last.current_revision;
  if (!target.empty()) status["targetRevision"] = target;
  if (!current.empty()) status["currentRevision"] = current;
}

}  // namespace

Json status_of(const ClusterServing& owner, const ClusterObservation& seen, const Plan& plan,
               const std::vector<Trouble>& troubles, WallTime now) {
  const LastStatus last = last_status_of(seen.last_status);
  const std::int64_t generation = owner.meta.generation;
  Json out;
  out["observedGeneration"] = generation;
  out["model"] = bounded_text(owner.serving.served_name(), 4096);
  out["desiredReplicas"] = plan.counts.wanted;
  out["replicas"] = plan.counts.existing;
  out["readyReplicas"] = plan.counts.ready;
  out["availableReplicas"] = plan.counts.available;
  out["updatedReplicas"] = plan.counts.updated;
  out["selector"] = pod_selector_text(owner.serving.metadata.name);
  set_revisions(seen, plan, last, out);
  const std::vector<Decision> decisions = with_decisions(last.decisions, plan.decisions);
  if (!decisions.empty()) out["decisions"] = decisions_json(decisions);
  if (plan.rollout) {
    out["rollout"] = to_json(*plan.rollout);
  } else if (const auto before = seen.last_status.find("rollout");
             before != seen.last_status.end()) {
    out["rollout"] = *before;  // what an apply leaves out is taken away
  }
  out["conditions"] = Json::array();
  for (const Condition& condition : all_conditions(owner, seen, plan, troubles)) {
    out["conditions"].push_back(condition_json(condition, last, generation, now));
  }
  return out;
}

bool status_changed(const Json& last, const Json& status) {
  for (const auto& [key, value] : status.items()) {
    const auto found = last.find(key);
    if (found == last.end() || *found != value) return true;
  }
  return false;
}

Json status_document(const ClusterServing& owner, Json status) {
  return {{"apiVersion", kApiVersion},
          {"kind", kKind},
          {"metadata",
           {{"name", owner.meta.key.name},
            {"namespace", owner.meta.key.name_space},
            {"uid", owner.meta.uid}}},
          {"status", std::move(status)}};
}

}  // namespace kantha::serving
