#include "operator/cluster/zero_scaling.h"

#include <map>
#include <utility>

#include "base/json_text.h"
#include "base/log.h"
#include "operator/cluster/activator_feed.h"
#include "operator/cluster/activator_slice.h"
#include "operator/cluster/gather.h"
#include "operator/cluster/scaling.h"
#include "operator/serving/plan_rollout.h"
#include "operator/serving/plan_workload.h"

namespace kantha::cluster {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds(5);
/// What a pod said longer ago says nothing of now.
constexpr Duration kIdleKnownFor = std::chrono::seconds(5);

using PodPtr = std::shared_ptr<const StoredPod>;

/// Pods that are not on their way out.
std::vector<PodPtr> staying_pods(const Pass& pass, const serving::ClusterObservation& seen) {
  std::map<std::string, const serving::ObservedPod*> observed;
  for (const serving::ObservedPod& pod : seen.observed.pods) observed[pod.name] = &pod;
  std::vector<PodPtr> out;
  for (const PodPtr& stored : pods_of(pass.scope, *pass.object)) {
    const auto found = observed.find(stored->meta.key.name);
    if (found == observed.end()) continue;
    const serving::ObservedPod& pod = *found->second;
    if (!pod.terminating && !pod.draining && !pod.replace_at) out.push_back(stored);
  }
  return out;
}

serving::ZeroPod zero_pod(const Pass& pass, const StoredPod& pod) {
  serving::ZeroPod out{pod.meta.key.name, std::nullopt};
  const metricsapi::PodEntry* known = pass.tools.samples->find(pass.key.name_space, pod.meta.uid);
  if (known == nullptr || !known->sample) return out;
  const metricsapi::Sample& sample = *known->sample;
  if (pass.tools.clock.now() - sample.heard <= kIdleKnownFor) out.idle = sample.idle;
  return out;
}

serving::ZeroInput input_of(const Pass& pass, const serving::ClusterObservation& seen) {
  const serving::ModelServing& serving = pass.object->serving;
  serving::ZeroInput out;
  out.replicas = serving.replicas_or_default();
  out.spec = *serving.spec.autoscaling;
  for (const PodPtr& pod : staying_pods(pass, seen)) out.pods.push_back(zero_pod(pass, *pod));
  for (const serving::ObservedPod& pod : seen.observed.pods) {
    if (serving::is_available(pod)) ++out.available;
  }
  if (pass.tools.activators != nullptr) {
    out.door = pass.tools.activators->door_of(pass.uid());
    const DoorMemory& door = pass.memory.door;
    out.door.is_open = door.is_open && door.route == pass.tools.activators->route_of(pass.uid());
  }
  if (serving::moves_pods(seen.rollout.state) && serving::count_outdated(seen.observed) > 0) {
    out.holds = "a rollout is under way";
  }
  return out;
}

/// ScalingActive as it was written last.
std::optional<serving::Condition> last_scaling(const serving::ClusterObservation& seen) {
  const auto conditions = seen.last_status.find("conditions");
  if (conditions == seen.last_status.end() || !conditions->is_array()) return std::nullopt;
  for (const Json& entry : *conditions) {
    if (text_at(entry, "type") != "ScalingActive") continue;
    const std::string status = text_at(entry, "status");
    if (status != "True" && status != "False") return std::nullopt;
    const auto as_read =
        status == "True" ? serving::ConditionStatus::kTrue : serving::ConditionStatus::kFalse;
    return serving::Condition{"ScalingActive", as_read, text_at(entry, "reason"),
                              text_at(entry, "message")};
  }
  return std::nullopt;
}

/// Asks every pod now; one that does not answer is not idle.
net::Task<bool> are_idle_now(Pass& pass, std::vector<PodPtr> pods) {
  const std::int64_t patience_ms = pass.object->serving.spec.autoscaling->idle_seconds * 1000;
  for (const PodPtr& pod : pods) {
    const Result<noded::PodState> state =
        co_await pass.tools.door.state(address_of(*pass.object, pod->pod));
    if (!state.ok() || state->streams > 0 || state->idle_ms < patience_ms) co_return false;
  }
  co_return true;
}

net::Task<void> carry_out(Pass& pass, const serving::ClusterObservation& seen,
                          const serving::ZeroStep& step, serving::Plan& plan) {
  ObjectMemory& memory = pass.memory;
  const std::int64_t from = pass.object->serving.replicas_or_default();
  const auto decision = serving::zero_decision(step, from, pass.tools.clock.wall_now());
  if (!decision || !pass.tools.client.may_write()) co_return;
  if (*step.replicas == 0) {
    const bool idle = co_await are_idle_now(pass, staying_pods(pass, seen));
    if (!idle) {
      memory.zero.open_since.reset();
      co_return;
    }
  }
  const bool written = co_await write_count(pass, *step.replicas);
  if (!written) co_return;
  log_info("scaled", {{"object", pass.key.to_string()},
                      {"from", decision->from},
                      {"to", decision->to},
                      {"reason", decision->reason}});
  memory.zero_wrote = *step.replicas;
  memory.decisions.push_back(*decision);
  plan.decisions.push_back(*decision);
}

}  // namespace

net::Task<void> scale_zero(Pass& pass, serving::ClusterObservation& seen, serving::Plan& plan) {
  const auto& scaling = pass.object->serving.spec.autoscaling;
  if (!scaling || !scaling->may_sleep() || !foreign_autoscaler(pass).empty()) {
    pass.memory.zero = {};
    // One that slept before an edit may still have its slice.
    const bool may_be_open = scaling && pass.tools.activators != nullptr;
    if (!may_be_open && !pass.memory.door.is_open) co_return;
    const bool slept = co_await close_door(pass);
    const bool must_wake = slept && scaling && !scaling->may_sleep();
    if (must_wake && pass.object->serving.replicas_or_default() == 0) {
      co_await write_count(pass, scaling->awake_min());
    }
    co_return;
  }
  if (pass.tools.activators != nullptr && !pass.tools.activators->knows(pass.uid())) {
    // For a moment after the start, in which the last word stands.
    const bool sleeps = pass.object->serving.replicas_or_default() == 0;
    if (sleeps || !seen.scaling) seen.scaling = last_scaling(seen);
    pass.outcome.look_again(kLookEvery);
    co_return;
  }
  const serving::ZeroInput input = input_of(pass, seen);
  const serving::ZeroStep step =
      serving::plan_zero(pass.memory.zero, input, pass.tools.clock.now());
  pass.memory.zero = step.memory;
  seen.scaling = serving::with_zero(step, std::move(seen.scaling));
  if (input.replicas > 0) pass.outcome.look_again(kLookEvery);
  if (step.look_again) pass.outcome.look_again(*step.look_again);
  if (!step.wants_door) {
    co_await close_door(pass);
  } else if (pass.tools.activators != nullptr) {
    const bool was_open = input.door.is_open;
    const bool is_open = co_await open_door(pass, pass.tools.activators->route_of(pass.uid()));
    if (is_open && !was_open) pass.outcome.look_again(std::chrono::milliseconds(100));
  }
  co_await carry_out(pass, seen, step, plan);
}

}  // namespace kantha::cluster
