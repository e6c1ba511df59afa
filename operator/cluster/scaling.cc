#include "operator/cluster/scaling.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/json_text.h"
#include "base/log.h"
#include "operator/cluster/gather.h"
#include "operator/cluster/pod_samples.h"
#include "operator/kube/api_fault.h"
#include "operator/serving/children.h"
#include "operator/serving/last_status.h"
#include "operator/serving/plan_rollout.h"
#include "operator/serving/plan_workload.h"
#include "operator/serving/scale_law.h"

namespace kantha::cluster {
namespace {

using serving::Condition;
using serving::ConditionStatus;

constexpr Duration kLookEvery = std::chrono::seconds(5);

Condition not_active(const char* reason, std::string message) {
  return {"ScalingActive", ConditionStatus::kFalse, reason, std::move(message)};
}

/// The pods that count, each with its sample.
std::vector<serving::ScalePod> scale_pods(const Pass& pass,
                                          const serving::ClusterObservation& seen) {
  std::map<std::string, const serving::ObservedPod*> observed;
  for (const serving::ObservedPod& pod : seen.observed.pods) observed[pod.name] = &pod;
  const TimePoint now = pass.tools.clock.now();
  std::vector<serving::ScalePod> out;
  for (const auto& stored : pods_of(pass.scope, *pass.object)) {
    const auto found = observed.find(stored->meta.key.name);
    if (found == observed.end()) continue;
    const serving::ObservedPod& pod = *found->second;
    if (pod.terminating || pod.draining || pod.replace_at) continue;
    serving::ScalePod entry;
    entry.name = pod.name;
    const metricsapi::PodEntry* known =
        pass.tools.samples->find(pass.key.name_space, stored->meta.uid);
    const auto* sample = known != nullptr ? metricsapi::MetricTable::fresh(*known, now) : nullptr;
    if (sample != nullptr && serving::is_available(pod)) {
      entry.pressure = sample->value(metricsapi::Metric::kKvPressure);
      entry.age = now - sample->taken;
    } else {
      entry.why_none = pod.message.empty() ? "not serving yet" : pod.message;
    }
    out.push_back(std::move(entry));
  }
  return out;
}

/// What the HPA says of itself, as our condition.
Condition hpa_condition(const Pass& pass, const ChildObject* hpa) {
  const std::string name = serving::hpa_name(pass.object->serving.metadata.name);
  if (hpa == nullptr)
    return not_active("NoAutoscaler", "HorizontalPodAutoscaler " + name + " is to be made");
  const Result<Json> conditions = parse_json(hpa->conditions.empty() ? "[]" : hpa->conditions);
  if (conditions.ok() && conditions->is_array()) {
    for (const Json& entry : *conditions) {
      if (text_at(entry, "type") != "ScalingActive") continue;
      const std::string status = text_at(entry, "status");
      const std::string reason = text_at(entry, "reason");
      return {"ScalingActive",
              status == "True"    ? ConditionStatus::kTrue
              : status == "False" ? ConditionStatus::kFalse
                                  : ConditionStatus::kUnknown,
              reason.empty() ? "Unknown" : reason,
              "HorizontalPodAutoscaler " + name + ": " + text_at(entry, "message")};
    }
  }
  return not_active("NotYet", "HorizontalPodAutoscaler " + name + " has not been looked at yet");
}

/// Notes who changed the count, and what was known then.
void note_change(const Pass& pass, const serving::ClusterObservation& seen, serving::Plan& plan,
                 const char* reason) {
  const auto before = serving::last_status_of(seen.last_status).desired_replicas;
  if (!before || *before == plan.counts.wanted) return;
  if (pass.memory.zero_wrote == plan.counts.wanted) return;  // that was us (zero_scaling.h)
  serving::ScaleLaw law;
  serving::ScaleInput input{
      *before, *pass.object->serving.spec.autoscaling, scale_pods(pass, seen), {}};
  serving::Decision made;
  made.kind = "Scale";
  made.from = std::to_string(*before);
  made.to = std::to_string(plan.counts.wanted);
  made.reason = reason;
  made.inputs = serving::scale_inputs(law.decide(input, pass.tools.clock.now()));
  made.at = pass.tools.clock.wall_now();
  plan.decisions.push_back(std::move(made));
}

net::Task<void> run_law(Pass& pass, serving::ClusterObservation& seen) {
  ObjectMemory& memory = pass.memory;
  const serving::ModelServing& serving = pass.object->serving;
  const TimePoint now = pass.tools.clock.now();
  pass.outcome.look_again(kLookEvery);
  if (memory.scaled_at && now - *memory.scaled_at < kLookEvery) {
    seen.scaling = serving::scaling_condition(*serving.spec.autoscaling, memory.scale_reason);
    co_return;
  }
  memory.scaled_at = now;
  const bool rolls =
      serving::moves_pods(seen.rollout.state) && serving::count_outdated(seen.observed) > 0;
  if (!memory.scale_law) memory.scale_law.emplace();
  const serving::ScaleVerdict verdict =
      memory.scale_law->decide({serving.replicas_or_default(), *serving.spec.autoscaling,
                                scale_pods(pass, seen), rolls ? "a rollout is under way" : ""},
                               now);
  memory.scale_reason = verdict.reason;
  seen.scaling = serving::scaling_condition(*serving.spec.autoscaling, verdict.reason);
  const auto decision = serving::scale_decision(verdict, pass.tools.clock.wall_now());
  if (!decision || !pass.tools.client.may_write()) co_return;
  const bool written = co_await write_count(pass, verdict.wanted);
  if (!written) co_return;
  log_info("scaled", {{"object", pass.key.to_string()},
                      {"from", decision->from},
                      {"to", decision->to},
                      {"reason", decision->reason}});
  memory.decisions.push_back(*decision);
}

}  // namespace

net::Task<bool> write_count(Pass& pass, std::int64_t count) {
  const Json body = {{"metadata", {{"resourceVersion", pass.version}}},
                     {"spec", {{"replicas", count}}}};
  kube::PatchOptions options;
  options.kind = kube::PatchKind::kMerge;
  options.subresource = "scale";
  const Result<Json> written = co_await pass.tools.client.patch(
      pass.key, kube::kModelServings, pass.key, dump_json(body), options, kube::Content::kWhole);
  if (written.ok()) {
    const std::string version = text_at(*written, "metadata", "resourceVersion");
    if (!version.empty()) pass.version = version;
    co_return true;
  }
  const kube::ApiFault fault = kube::fault_of(written.error());
  // Somebody wrote first: the next pass sees what.
  if (fault == kube::ApiFault::kConflict) {
    pass.outcome.look_again(std::chrono::seconds(1));
  } else if (written.error().code != Code::kNotFound) {
    pass.outcome.note(written.error(), "scale " + pass.key.to_string());
  }
  co_return false;
}

std::string foreign_autoscaler(const Pass& pass) {
  for (const auto& hpa : pass.scope.autoscalers.indexed(label_index_key(pass.key))) {
    if (hpa->owner_uid == pass.uid() || hpa->meta.is_deleting()) continue;
    const Json owners =
        hpa->json().value(Json::json_pointer("/metadata/ownerReferences"), Json::array());
    std::string out = hpa->meta.key.name;
    if (owners.is_array() && !owners.empty()) {
      out += " of " + text_at(owners[0], "kind") + "/" + text_at(owners[0], "name");
    }
    return out;
  }
  return {};
}

bool wants_hpa(const Pass& pass) {
  return pass.tools.settings.autoscaler == Autoscaler::kHpa &&
         pass.object->serving.spec.autoscaling && foreign_autoscaler(pass).empty();
}

net::Task<void> remove_own_hpa(Pass& pass) {
  if (wants_hpa(pass)) co_return;
  const std::string name = serving::hpa_name(pass.object->serving.metadata.name);
  const auto held = pass.scope.autoscalers.find({pass.key.name_space, name});
  if (held == nullptr || held->owner_uid != pass.uid() || held->meta.is_deleting()) co_return;
  kube::DeleteOptions options;
  options.uid = held->meta.uid;
  const Status done =
      co_await pass.tools.client.remove(pass.key, kAutoscalers, held->meta.key, options);
  if (!done.ok() && kube::fault_of(done.error()) != kube::ApiFault::kNotFound) {
    pass.outcome.note(done.error(), "delete HorizontalPodAutoscaler " + name);
  }
}

net::Task<void> scale(Pass& pass, serving::ClusterObservation& seen, serving::Plan& plan) {
  const serving::ModelServing& serving = pass.object->serving;
  if (!serving.spec.autoscaling) {
    pass.memory.scale_law.reset();
    pass.memory.scaled_at.reset();
    co_return;
  }
  const std::string foreign = foreign_autoscaler(pass);
  if (!foreign.empty()) {
    seen.scaling = not_active("ForeignAutoscaler",
                              "HorizontalPodAutoscaler " + foreign +
                                  " scales this object, too; the count is left to it. Delete it, "
                                  "or take spec.autoscaling away");
    note_change(pass, seen, plan, "ForeignAutoscaler");
    co_return;
  }
  // Without a number in the spec an HPA is told that there is nothing to scale.
  if (!serving.spec.replicas && pass.tools.client.may_write()) {
    co_await write_count(pass, serving.replicas_or_default());
  }
  if (pass.tools.settings.autoscaler == Autoscaler::kHpa) {
    const std::string name = serving::hpa_name(serving.metadata.name);
    const auto hpa = pass.scope.autoscalers.find({pass.key.name_space, name});
    seen.scaling = hpa_condition(pass, hpa.get());
    note_change(pass, seen, plan, "HorizontalPodAutoscaler");
    plan.decisions.insert(plan.decisions.end(), pass.memory.decisions.begin(),
                          pass.memory.decisions.end());
    co_return;
  }
  if (!serving.spec.replicas) co_return;
  // Asleep: what wakes it is no pressure (zero_scaling.h).
  const bool sleeps = *serving.spec.replicas == 0 && serving.spec.autoscaling->may_sleep();
  if (!sleeps) co_await run_law(pass, seen);
  plan.decisions.insert(plan.decisions.end(), pass.memory.decisions.begin(),
                        pass.memory.decisions.end());
}

}  // namespace kantha::cluster
