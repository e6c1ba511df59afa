#include "operator/cluster/report.h"

#include <functional>
#include <utility>

#include "base/json_text.h"
#include "base/log.h"
#include "operator/kube/api_fault.h"
#include "operator/serving/children.h"
#include "operator/serving/status_of.h"

namespace kantha::cluster {
namespace {

constexpr int kTriesMax = 5;
/// A pod's way to Ready is half a dozen small changes; those within this time are one write.
constexpr Duration kNewsPause = std::chrono::seconds(2);

/// One condition of a status, as far as it is there.
struct Told {
  std::string status;
  std::string reason;
  std::string message;
};

Told condition_of(const Json& status, std::string_view type) {
  const auto conditions = status.is_object() ? status.find("conditions") : status.end();
  if (!status.is_object() || conditions == status.end() || !conditions->is_array()) return {};
  for (const Json& condition : *conditions) {
    if (!condition.is_object() || text_at(condition, "type") != type) continue;
    return {text_at(condition, "status"), text_at(condition, "reason"),
            text_at(condition, "message")};
  }
  return {};
}

/// The uid guards nothing here: the API server resets the metadata of a status write before it
/// compares any of it but resourceVersion. With that the status of an object that is gone cannot
/// land on the next one of its name.
net::Task<Status> write_status(Pass& pass, Json document) {
  kube::PatchOptions options;
  options.field_manager = serving::kStatusFieldManager;
  options.force = true;
  options.subresource = "status";
  for (int attempt = 1;; ++attempt) {
    document["metadata"]["resourceVersion"] = pass.version;
    const Result<Json> done = co_await pass.tools.client.patch(
        pass.key, kube::kModelServings, pass.key, dump_json(document), options);
    if (done.ok()) co_return ok_status();
    const bool again = kube::fault_of(done.error()) == kube::ApiFault::kConflict;
    if (!again || attempt == kTriesMax) co_return done.error();
    const Result<Json> live = co_await pass.tools.client.get(kube::kModelServings, pass.key);
    if (!live.ok()) co_return live.error();
    const Result<kube::ObjectMeta> meta = kube::object_meta_from_json(*live);
    if (!meta.ok() || meta->uid != pass.uid()) co_return not_found("the object is gone");
    pass.version = meta->resource_version;
  }
}

/// The rollout went on to another phase or ring: what follows from it must not be forgotten. The
/// first revision's way to its first pods is seen again from the pods alone.
bool rollout_moved(const Json& before, const Json& status) {
  const Json was = before.value("rollout", Json::object());
  const Json is = status.value("rollout", Json::object());
  const std::string old_phase = text_at(was, "phase");
  const std::string phase = text_at(is, "phase");
  const bool is_first = old_phase.empty() || old_phase == "None";
  if (is_first && (phase.empty() || phase == "None" || phase == "Done")) return false;
  for (const char* name : {"phase", "target", "ring"}) {
    if (text_at(was, name) != text_at(is, name)) return true;
  }
  return false;
}

/// Whether nobody waits for this status: the counts moved, and what people act on did not.
bool may_wait(const Pass& pass, const Json& before, const Json& status) {
  if (pass.object->is_deleting() || pass.outcome.error || !pass.outcome.troubles.empty()) {
    return false;
  }
  if (rollout_moved(before, status)) return false;
  const auto was_available = condition_of(before, "Available").status;
  const bool same =
      (was_available.empty() ? "False" : was_available) == condition_of(status, "Available").status;
  return same && transitions_between(before, status).empty();
}

/// Puts off a status that may wait, for kNewsPause at most after the first news.
bool put_off(Pass& pass, const Json& before, const Json& status) {
  if (!may_wait(pass, before, status)) return false;
  const TimePoint now = pass.tools.clock.now();
  if (!pass.memory.untold_since) pass.memory.untold_since = now;
  const Duration left = *pass.memory.untold_since + kNewsPause - now;
  if (left <= Duration::zero()) return false;
  pass.outcome.look_again(left);
  return true;
}

/// Whether the next pass, with this status and everything else as it is, would do nothing: what
/// follows from a status is the next step of a rollout, and old revisions to be pruned.
bool is_at_rest(const Pass& pass, const Json& before, const Json& status,
                const serving::ClusterPlan& plan) {
  if (pass.object->is_deleting() || pass.outcome.error || !pass.outcome.troubles.empty()) {
    return false;
  }
  if (plan.plan.rollout) {
    const serving::RolloutPhase phase = plan.plan.rollout->phase;
    if (phase != serving::RolloutPhase::kNone && phase != serving::RolloutPhase::kDone) {
      return false;
    }
  }
  const std::string revision = text_at(before, "currentRevision");
  return revision.empty() || revision == text_at(status, "currentRevision");
}

/// Notes that the event of this write will be no news. Before the write: the event often comes
/// before the answer.
void expect_echo(Pass& pass, const Json& before, const Json& status,
                 const serving::ClusterPlan& plan) {
  pass.scope.told.erase(pass.key);
  if (!is_at_rest(pass, before, status, plan)) return;
  pass.scope.told[pass.key] = std::hash<std::string>{}(dump_json(status));
}

/// No condition can say what keeps conditions from being written: log and Event do, once.
void tell_refusal(Pass& pass, const Error& error) {
  const kube::ApiFault fault = kube::fault_of(error);
  if (fault != kube::ApiFault::kForbidden && fault != kube::ApiFault::kInvalid) return;
  if (std::exchange(pass.memory.status_refusal, error.message) == error.message) return;
  log_warn("status refused", {{"object", pass.key.to_string()}, {"error", error.message}});
  pass.tools.events.record({kube::kModelServings, pass.key, pass.uid()}, kube::EventKind::kWarning,
                           "StatusNotWritten", error.message);
}

}  // namespace

std::vector<Transition> transitions_between(const Json& before, const Json& after) {
  std::vector<Transition> out;
  const auto was = [&](const char* type) { return condition_of(before, type); };
  const auto is = [&](const char* type) { return condition_of(after, type); };
  const Told available = is("Available");
  if (available.status == "True" && was("Available").status != "True") {
    out.push_back({false, "Available", available.message});
  } else if (available.status == "False" && was("Available").status == "True") {
    out.push_back({available.reason == "PodsUnavailable", "Unavailable", available.message});
  }
  const Told degraded = is("Degraded");
  const Told degraded_before = was("Degraded");
  if (degraded.status == "True" &&
      (degraded_before.status != "True" || degraded_before.reason != degraded.reason)) {
    out.push_back({true, degraded.reason, degraded.message});
  }
  const Told blocked = is("CapacityBlocked");
  if (blocked.status == "True" && was("CapacityBlocked").status != "True") {
    out.push_back({true, "CapacityBlocked", blocked.message});
  }
  const Told progress = is("Progressing");
  if (progress.reason != was("Progressing").reason && progress.reason == "InvalidSpec") {
    out.push_back({true, progress.reason, progress.message});
  }
  const Told weights = is("WeightsReady");
  const bool fetches = weights.reason == "FetchFailed" || weights.reason == "Fetching";
  if (fetches && weights.reason != was("WeightsReady").reason) {
    out.push_back({weights.reason == "FetchFailed", weights.reason, weights.message});
  }
  const std::string revision = text_at(after, "currentRevision");
  const std::string revision_before = text_at(before, "currentRevision");
  if (!revision_before.empty() && revision != revision_before) {
    out.push_back({false, "RolledOut", "all pods run " + revision});
  }
  return out;
}

net::Task<void> report(Pass& pass, const serving::ClusterObservation& seen,
                       const serving::ClusterPlan& plan) {
  const Json status = serving::status_of(*pass.object, seen, plan.plan, pass.outcome.troubles,
                                         pass.tools.clock.wall_now());
  if (!serving::status_changed(seen.last_status, status)) {
    pass.memory.untold_since.reset();
    co_return;
  }
  if (put_off(pass, seen.last_status, status)) co_return;
  expect_echo(pass, seen.last_status, status, plan);
  const Json document = serving::status_document(*pass.object, status);
  const Status written = co_await write_status(pass, document);
  if (!written.ok()) {
    pass.scope.told.erase(pass.key);
    if (kube::fault_of(written.error()) != kube::ApiFault::kNotFound &&
        written.error().code != Code::kNotFound) {
      tell_refusal(pass, written.error());
      pass.outcome.note(written.error(), "write the status of " + pass.key.to_string());
    }
    co_return;
  }
  pass.memory.status_refusal.clear();
  pass.memory.untold_since.reset();
  pass.memory.decisions.clear();
  for (Transition& event : transitions_between(seen.last_status, status)) {
    pass.tools.events.record(
        {kube::kModelServings, pass.key, pass.uid()},
        event.is_warning ? kube::EventKind::kWarning : kube::EventKind::kNormal,
        std::move(event.reason), std::move(event.message));
  }
  pass.tools.rollouts.count(plan.events);
  for (const serving::RolloutEvent& event : plan.events) {
    pass.tools.events.record(
        {kube::kModelServings, pass.key, pass.uid()},
        event.is_warning ? kube::EventKind::kWarning : kube::EventKind::kNormal, event.reason,
        event.message);
  }
}

}  // namespace kantha::cluster
