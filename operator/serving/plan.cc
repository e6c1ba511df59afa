#include "operator/serving/plan.h"

#include <algorithm>

#include "operator/serving/plan_victims.h"
#include "operator/serving/plan_workload.h"

namespace kantha::serving {
namespace {

std::string of_text(std::int64_t part, std::int64_t whole, std::string_view what) {
  return std::to_string(part) + " of " + std::to_string(whole) + " pods " + std::string(what);
}

ReplicaCounts count_pods(const Observed& observed) {
  ReplicaCounts counts;
  counts.wanted = observed.serving.replicas_or_default();
  for (const ObservedPod& pod : observed.pods) {
    if (pod.terminating || pod.replace_at) continue;
    ++counts.existing;
    counts.ready += pod.ready ? 1 : 0;
    if (!is_available(pod)) continue;
    ++counts.available;
    counts.updated += runs_target(observed, pod) ? 1 : 0;
  }
  return counts;
}

bool is_settled(const Observed& observed, const ReplicaCounts& counts) {
  return static_cast<std::int64_t>(observed.pods.size()) == counts.wanted &&
         runs_as_assigned(observed);
}

Condition available_condition(const Observed& observed, const ReplicaCounts& counts) {
  if (counts.wanted == 0) {
    const auto& scaling = observed.serving.spec.autoscaling;
    return {"Available", ConditionStatus::kFalse, "ScaledToZero",
            scaling && scaling->may_sleep() ? "nobody asks; the next request starts a pod"
                                            : "spec.replicas is 0"};
  }
  const std::int64_t floor =
      std::max<std::int64_t>(1, counts.wanted - max_unavailable(observed.serving));
  const std::string message = of_text(counts.available, counts.wanted, "available");
  if (counts.available >= floor) {
    return {"Available", ConditionStatus::kTrue, "PodsAvailable", message};
  }
  return {"Available", ConditionStatus::kFalse, "PodsUnavailable",
          message + ", needs " + std::to_string(floor)};
}

Condition progressing_condition(const Observed& observed, const Plan& plan) {
  const ReplicaCounts& counts = plan.counts;
  if (plan.settled && counts.updated == counts.wanted) {
    return {"Progressing", ConditionStatus::kFalse, "Complete",
            of_text(counts.updated, counts.wanted, "run " + short_revision(observed.target.whole))};
  }
  const std::int64_t old_pods = count_outdated(observed);
  if (old_pods > 0 && observed.serving.spec.rollout.paused) {
    return {"Progressing", ConditionStatus::kFalse, "RolloutPaused",
            std::to_string(old_pods) + " pods run an older revision; spec.rollout.paused is true"};
  }
  if (old_pods > 0) {
    return {"Progressing", ConditionStatus::kTrue, "RollingOut",
            of_text(counts.updated, counts.wanted, "run " + short_revision(observed.target.whole))};
  }
  if (counts.existing > counts.wanted && load_holds_surplus(observed)) {
    return {"Progressing", ConditionStatus::kTrue, "ScaleInHeld",
            std::to_string(counts.existing) + " pods, " + std::to_string(counts.wanted) +
                " wanted; the others would not bear the load of those that are to go"};
  }
  if (counts.existing != counts.wanted ||
      static_cast<std::int64_t>(observed.pods.size()) != counts.wanted) {
    return {"Progressing", ConditionStatus::kTrue, "Scaling",
            std::to_string(observed.pods.size()) + " pods, " + std::to_string(counts.wanted) +
                " wanted"};
  }
  return {"Progressing", ConditionStatus::kTrue, "Starting",
          of_text(counts.updated, counts.wanted, "ready")};
}

Condition degraded_condition(const Observed& observed) {
  std::string message;
  for (const ObservedPod& pod : observed.pods) {
    if (pod.terminating ? !pod.stuck : !pod.failing) continue;
    if (!message.empty()) message += "; ";
    message += pod.name + ": " + (pod.message.empty() ? "fails" : pod.message);
  }
  if (message.empty()) {
    return {"Degraded", ConditionStatus::kFalse, "AsExpected", "no pod fails"};
  }
  return {"Degraded", ConditionStatus::kTrue, "PodsFailing", message};
}

}  // namespace

std::string_view action_name(ActionKind kind) {
  switch (kind) {
    case ActionKind::kCreatePod: return "CreatePod";
    case ActionKind::kDrainPod: return "DrainPod";
    case ActionKind::kDeletePod: return "DeletePod";
    case ActionKind::kRestartEngine: return "RestartEngine";
  }
  return "?";
}

std::string_view condition_status_name(ConditionStatus status) {
  switch (status) {
    case ConditionStatus::kFalse: return "False";
    case ConditionStatus::kTrue: return "True";
    case ConditionStatus::kUnknown: return "Unknown";
  }
  return "?";
}

std::string pod_name(const ModelServing& serving, std::int64_t ordinal) {
  return serving.metadata.name + "-" + std::to_string(ordinal);
}

Plan plan(const Observed& observed, TimePoint now) {
  Plan out;
  out.counts = count_pods(observed);
  out.settled = is_settled(observed, out.counts);
  plan_workload(observed, now, out.actions);
  out.conditions = {available_condition(observed, out.counts), progressing_condition(observed, out),
                    degraded_condition(observed)};
  for (Condition& condition : out.conditions) {
    condition.observed_generation = observed.serving.metadata.generation;
  }
  return out;
}

}  // namespace kantha::serving
