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

ClusterPlan plan_hold(const ClusterObservation& seen, TimePoint now) {
  const LastStatus last = last_status_of(seen.last_status);
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

ClusterPlan plan_service(const ClusterObservation& seen, Moment at, const Verdict& verdict) {
  const RolloutView& view = seen.rollout;
  RolloutStep step = plan_rollout(
      view.state, {seen.observed, view.good_revision, view.target_spec, verdict, view.image},
      at.wall);
  Observed divided = seen.observed;
  divided.split = std::move(step.split);
  ClusterPlan out{.plan = plan(divided, at.now), .events = std::move(step.events)};
  out.pull_on = std::move(step.pull_on);
  out.keep_pulled = std::move(step.keep_pulled);
  out.write_first = step.state.phase == RolloutPhase::kRollingBack &&
                    view.state.phase != RolloutPhase::kRollingBack;
  for (Condition& condition : out.plan.conditions) {
    if (condition.type == "Progressing") condition = progress_condition(step.state, condition);
  }
  for (const RolloutEvent& event : out.events) {
    out.plan.decisions.push_back({"Rollout", std::string(rollout_phase_name(view.state.phase)),
                                  std::string(rollout_phase_name(step.state.phase)), event.reason,
                                  event.message, at.wall});
  }
  out.plan.rollout = std::move(step.state);
  return out;
}

}  // namespace

ClusterPlan plan_cluster(const ClusterServing& owner, const ClusterObservation& seen, Moment at,
                         const Verdict& verdict) {
  if (owner.is_deleting()) return plan_deletion(seen, at.now);
  if (!seen.hold_reason.empty()) return plan_hold(seen, at.now);
  return plan_service(seen, at, verdict);
}

}  // namespace kantha::serving
