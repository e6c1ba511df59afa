#include "operator/serving/plan_cluster.h"

#include <algorithm>
#include <utility>

#include "operator/serving/last_status.h"

namespace kantha::serving {
namespace {

void set_condition(Plan& plan, Condition condition) {
  for (Condition& old : plan.conditions) {
    if (old.type != condition.type) continue;
    condition.observed_generation = old.observed_generation;
    old = std::move(condition);
    return;
  }
}

ClusterPlan plan_deletion(const ClusterObservation& seen, TimePoint now) {
  Observed nothing = seen.observed;
  nothing.serving.spec.replicas = 0;
  ClusterPlan out;
  out.plan = plan(nothing, now);
  out.plan.actions.clear();
  std::int64_t waiting = 0;
  for (const ObservedPod& pod : seen.observed.pods) {
    waiting += pod.stuck ? 0 : 1;
    if (pod.terminating) continue;
    const bool idle = !pod.ready || pod.replace_at;
    out.plan.actions.push_back({idle ? ActionKind::kDeletePod : ActionKind::kDrainPod, pod.name,
                                pod.ordinal, "the ModelServing is being deleted"});
  }
  out.release_finalizer = waiting == 0;
  const std::string message = waiting == 0
                                  ? std::string("nothing is left to drain")
                                  : "waits for " + std::to_string(waiting) + " pods to drain";
  set_condition(out.plan, {"Available", ConditionStatus::kFalse, "Deleting", message});
  set_condition(out.plan, {"Progressing", ConditionStatus::kTrue, "Deleting", message});
  return out;
}

ClusterPlan plan_hold(const ClusterServing& owner, const ClusterObservation& seen, TimePoint now) {
  const LastStatus last = last_status_of(owner.status);
  const auto existing = static_cast<std::int64_t>(seen.observed.pods.size());
  Observed held = seen.observed;
  held.serving.spec.replicas = last.desired_replicas.value_or(existing);
  ClusterPlan out;
  out.plan = plan(held, now);
  out.plan.actions.clear();
  out.plan.settled = false;
  out.plan.counts.updated = std::min(last.updated_replicas, out.plan.counts.available);
  std::string message = seen.hold_message;
  if (existing > 0) {
    message += "; " + std::to_string(existing) + " pods stay as they are";
  } else if (out.plan.counts.wanted == 0) {
    set_condition(out.plan, {"Available", ConditionStatus::kFalse, seen.hold_reason, message});
  }
  set_condition(out.plan,
                {"Progressing", ConditionStatus::kFalse, seen.hold_reason, std::move(message)});
  return out;
}

}  // namespace

ClusterPlan plan_cluster(const ClusterServing& owner, const ClusterObservation& seen,
                         TimePoint now) {
  if (owner.is_deleting()) return plan_deletion(seen, now);
  if (!seen.hold_reason.empty()) return plan_hold(owner, seen, now);
  return {plan(seen.observed, now)};
}

}  // namespace kantha::serving
