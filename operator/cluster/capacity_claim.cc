#include "operator/cluster/capacity_claim.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/log.h"
#include "operator/cluster/live_pods.h"
#include "operator/kube/api_fault.h"
#include "operator/serving/children.h"
#include "operator/serving/plan_workload.h"

namespace kantha::cluster {
namespace {

using serving::Action;
using serving::ActionKind;

constexpr Duration kSoon = std::chrono::seconds(2);
/// How long the maker of a claim has for what it claimed, before somebody else makes it void. Only
/// a matter of manners: a claim is void or carried out, whenever that happens.
constexpr Duration kManners = std::chrono::seconds(10);

/// The object as the API server has it: its version, and the claims that stand in it.
struct LiveObject {
  std::string version;
  std::set<std::string> taking;
};

std::set<std::string> claims_of(const Json& object) {
  std::set<std::string> out;
  const auto status = object.find("status");
  if (status == object.end() || !status->is_object()) return out;
  const auto taking = status->find("taking");
  if (taking == status->end() || !taking->is_array()) return out;
  for (const Json& entry : *taking) {
    if (entry.is_string()) out.insert(entry.get<std::string>());
  }
  return out;
}

/// Reads the object itself; nullopt unless it is the one that the plan was made for.
net::Task<std::optional<LiveObject>> current_object(Pass& pass) {
  const Result<Json> live = co_await pass.tools.client.get(kube::kModelServings, pass.key);
  if (!live.ok()) {
    if (kube::fault_of(live.error()) == kube::ApiFault::kNotFound) {
      pass.outcome.look_again(kSoon);
    } else {
      pass.outcome.note(live.error(), "read ModelServing " + pass.key.to_string());
    }
    co_return std::nullopt;
  }
  const Result<kube::ObjectMeta> meta = kube::object_meta_from_json(*live);
  const bool same = meta.ok() && meta->uid == pass.uid() &&
                    meta->generation == pass.object->meta.generation &&
                    meta->is_deleting() == pass.object->is_deleting();
  if (!same) {
    pass.outcome.look_again(kSoon);
    co_return std::nullopt;
  }
  co_return LiveObject{meta->resource_version, claims_of(*live)};
}

/// Whether every pod still is as the plan saw it. What may be taken away depends on the others: one
/// that went down unseen counts against the budget, too.
net::Task<bool> pods_are_current(Pass& pass) {
  const auto pods = co_await live_pods(pass);
  if (!pods) co_return false;
  std::size_t unchanged = 0;
  for (const Json& pod : *pods) {
    const Result<kube::ObjectMeta> meta = kube::object_meta_from_json(pod);
    unchanged += meta.ok() && pass.is_as_planned(*meta) ? 1 : 0;
  }
  // One that is missing here may have lost its label; that the next pass sees.
  if (unchanged == pass.planned.size()) co_return true;
  pass.outcome.look_again(kSoon);
  co_return false;
}

std::string claim_on(const std::string& pod, const std::string& version) {
  return pod + "@" + version;
}

/// What stands in the object and can still come true: claims on pods as they are now.
std::map<std::string, std::string> pending_claims(const Pass& pass,
                                                  const std::set<std::string>& taking) {
  std::map<std::string, std::string> out;  // pod by claim
  for (const auto& [pod, version] : pass.planned) {
    const std::string claim = claim_on(pod, version);
    if (taking.contains(claim)) out.emplace(claim, pod);
  }
  return out;
}

/// Changes the version of a pod, so that nothing that was decided for the old one can land on it.
net::Task<void> spare(Pass& pass, std::string pod) {
  const std::string version = pass.planned[pod];
  Json body;
  body["metadata"]["resourceVersion"] = version;
  body["metadata"]["annotations"] = {{kAnnotationSpared, version}};
  kube::PatchOptions options;
  options.kind = kube::PatchKind::kMerge;
  const Result<Json> done = co_await pass.tools.client.patch(
      pass.key, kube::kPods, {pass.key.name_space, pod}, dump_json(body), options);
  if (done.ok()) {
    log_info("pod spared", {{"pod", pass.key.name_space + "/" + pod}, {"version", version}});
    co_return;
  }
  const kube::ApiFault fault = kube::fault_of(done.error());
  if (fault == kube::ApiFault::kConflict || fault == kube::ApiFault::kNotFound) co_return;
  pass.outcome.note(done.error(), "patch pod " + pod);
}

/// Waits for what others have claimed and this plan does not want; true: there is nothing such.
net::Task<bool> others_are_done(Pass& pass, std::map<std::string, std::string> others) {
  const TimePoint now = pass.tools.clock.now();
  auto& met = pass.memory.claims_met;
  std::erase_if(met, [&](const auto& entry) { return !others.contains(entry.first); });
  if (others.empty()) co_return true;
  for (const auto& [claim, pod] : others) {
    const TimePoint since = met.emplace(claim, now).first->second;
    if (now - since >= kManners) co_await spare(pass, pod);
  }
  pass.outcome.look_again(kSoon);
  co_return false;
}

net::Task<bool> write_claim(Pass& pass, std::string version, std::set<std::string> claims) {
  OrderedJson body;
  body["apiVersion"] = serving::kApiVersion;
  body["kind"] = serving::kKind;
  body["metadata"]["name"] = pass.key.name;
  body["metadata"]["namespace"] = pass.key.name_space;
  body["metadata"]["resourceVersion"] = version;
  body["status"]["taking"] = claims;
  kube::PatchOptions options;
  options.field_manager = kClaimFieldManager;
  options.force = true;
  options.subresource = "status";
  const Result<Json> done = co_await pass.tools.client.patch(pass.key, kube::kModelServings,
                                                             pass.key, dump_json(body), options);
  if (done.ok()) {
    const Result<kube::ObjectMeta> meta = kube::object_meta_from_json(*done);
    if (meta.ok()) pass.version = meta->resource_version;
    co_return meta.ok();
  }
  const kube::ApiFault fault = kube::fault_of(done.error());
  if (fault == kube::ApiFault::kConflict || fault == kube::ApiFault::kNotFound) {
    pass.outcome.look_again(kSoon);  // somebody else wrote; the next pass sees what
  } else {
    pass.outcome.note(done.error(), "claim pods of " + pass.key.to_string());
  }
  co_return false;
}

/// Claims the pods, unless they are claimed already.
net::Task<bool> claim(Pass& pass, LiveObject live, std::set<std::string> pods) {
  std::map<std::string, std::string> others = pending_claims(pass, live.taking);
  std::set<std::string> mine;
  for (const std::string& pod : pods) {
    const std::string claim = claim_on(pod, pass.planned[pod]);
    others.erase(claim);
    mine.insert(claim);
  }
  const bool is_free = co_await others_are_done(pass, std::move(others));
  if (!is_free) co_return false;
  if (std::ranges::includes(live.taking, mine)) co_return true;
  co_return co_await write_claim(pass, std::move(live.version), std::move(mine));
}

/// Those of the actions' pods that serve, as anybody can see, and those that do not.
struct Takes {
  std::set<std::string> ready;
  std::set<std::string> idle;
};

Takes takes_of(const serving::ClusterObservation& seen, const std::vector<Action>& actions) {
  Takes out;
  for (const Action& action : actions) {
    if (action.kind == ActionKind::kCreatePod) continue;
    const auto& pods = seen.observed.pods;
    const auto pod = std::ranges::find(pods, action.pod, &serving::ObservedPod::name);
    const bool is_ready = pod == pods.end() || pod->ready;
    (is_ready ? out.ready : out.idle).insert(action.pod);
  }
  return out;
}

bool has_budget(const Pass& pass) {
  const serving::ModelServing& serving = pass.object->serving;
  return serving.replicas_or_default() > serving::max_unavailable(serving);
}

}  // namespace

net::Task<std::set<std::string>> may_take(Pass& pass, const serving::ClusterObservation& seen,
                                          const std::vector<Action>& actions) {
  Takes takes = takes_of(seen, actions);
  std::set<std::string> all = takes.idle;
  all.insert(takes.ready.begin(), takes.ready.end());
  if (all.empty()) co_return all;
  std::optional<LiveObject> live = co_await current_object(pass);
  if (!live) co_return std::set<std::string>();
  if (pass.object->is_deleting()) co_return all;  // no budget left to keep
  const bool is_current = co_await pods_are_current(pass);
  if (!is_current) co_return std::set<std::string>();
  if (takes.ready.empty() || !has_budget(pass)) co_return all;
  while (takes.ready.size() > kClaimedMax) {
    takes.ready.erase(takes.ready.begin());
    pass.outcome.look_again(kSoon);
  }
  const bool is_claimed = co_await claim(pass, std::move(*live), takes.ready);
  if (!is_claimed) co_return takes.idle;
  takes.idle.merge(takes.ready);
  co_return takes.idle;
}

}  // namespace kantha::cluster
