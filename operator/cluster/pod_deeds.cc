#include "operator/cluster/pod_deeds.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "operator/cluster/capacity_claim.h"
#include "operator/cluster/child_writer.h"
#include "operator/cluster/gather.h"
#include "operator/cluster/secret_writer.h"
#include "operator/kube/api_fault.h"
#include "operator/serving/children.h"
#include "operator/serving/render_pod.h"

namespace kantha::cluster {
namespace {

using serving::Action;
using serving::ActionKind;

constexpr Duration kSoon = std::chrono::seconds(2);

/// The document with which a pod is ours: owner reference and labels, nothing of its spec.
ChildDocument identity_of_pod(const Pass& pass, const std::string& pod, std::int64_t ordinal) {
  ChildDocument document{kube::kPods, pod, {}};
  document.body["apiVersion"] = "v1";
  document.body["kind"] = "Pod";
  document.body["metadata"] = serving::child_metadata(*pass.object, pod);
  OrderedJson& labels = document.body["metadata"]["labels"];
  labels[serving::kLabelRole] = serving::kRoleReplica;
  labels[serving::kLabelOrdinal] = std::to_string(ordinal);
  return document;
}

/// What a deed's pod is made of, and called.
struct Make {
  std::shared_ptr<const serving::ClusterServing> owner;
  const serving::Revision& revision;
};

/// The image goes by its digest where that is known, so that a tag means the same to all pods of a
/// revision; but for a pod that `has` that tag already, for which it would be a needless change.
Make pinned(const Pass& pass, Make make, const std::string& image, const std::string& has) {
  const std::string& tag = serving::engine_image_of(make.owner->serving, pass.tools.settings.pods);
  if (image.empty() || tag == image || tag == has) return make;
  auto out = std::make_shared<serving::ClusterServing>(*make.owner);
  out->serving.spec.engine.image = image;
  return {std::move(out), make.revision};
}

Make make_of(const Pass& pass, const serving::ClusterObservation& seen, const Action& action,
             const std::string& has) {
  const serving::RolloutView& view = seen.rollout;
  if (!action.to_last_good) {
    return pinned(pass, {pass.object, seen.observed.target}, view.image, has);
  }
  CHECK(view.good.has_value(), "pods are divided only with a last good revision");
  return pinned(pass,
                {std::make_shared<const serving::ClusterServing>(*view.good), *view.good_revision},
                view.state.good_image, has);
}

net::Task<void> create_pod(Pass& pass, const serving::ClusterObservation& seen, Action action) {
  const Make make = make_of(pass, seen, action, "");
  const OrderedJson body =
      serving::render_pod(*make.owner, pass.tools.settings.pods, make.revision, action.ordinal);
  const Result<Json> made = co_await pass.tools.client.create(pass.key, kube::kPods,
                                                              pass.key.name_space, dump_json(body));
  if (made.ok()) {
    pass.outcome.made_pods = true;
    log_info("pod created",
             {{"pod", pass.key.name_space + "/" + action.pod}, {"why", action.reason}});
    co_return;
  }
  if (kube::fault_of(made.error()) != kube::ApiFault::kAlreadyExists) {
    pass.outcome.note(made.error(), "create pod " + action.pod);
    co_return;
  }
  co_await judge_holder(pass, identity_of_pod(pass, action.pod, action.ordinal));
}

const serving::PodObject* find_pod(const Pass& pass, const std::string& name) {
  const auto stored = pass.scope.pods.find({pass.key.name_space, name});
  return stored == nullptr ? nullptr : &stored->pod;
}

/// A surplus pod of an object whose owner wants fewer, or none.
bool user_asked(const Pass& pass, const Action& action) {
  return pass.object->is_deleting() || action.is_surplus;
}

bool breaker_allows(Pass& pass, const Action& action) {
  const TimePoint now = pass.tools.clock.now();
  const std::size_t fleet = pass.tools.stores.pod_count();
  if (user_asked(pass, action)) {
    pass.tools.breaker.count(now);
    return true;
  }
  if (pass.tools.breaker.allow(fleet, now)) return true;
  log_warn("delete held back: too many within a minute", {{"pod", action.pod}});
  pass.outcome.add({"DeletionsHeldBack",
                    "more pods were to be deleted within a minute than a "
                    "tenth of the fleet; the rest waits"});
  pass.outcome.look_again(std::max<Duration>(pass.tools.breaker.retry_after(fleet, now),
                                             std::chrono::milliseconds(100)));
  return false;
}

/// A pod of a target that failed is on its way.
void note_way_back(Pass& pass, const serving::ClusterObservation& seen) {
  if (seen.rollout.state.phase != serving::RolloutPhase::kRollingBack) return;
  pass.tools.rollouts.told_back(pass.key, pass.tools.clock.now());
}

net::Task<void> delete_pod(Pass& pass, const serving::ClusterObservation& seen, Action action) {
  const serving::PodObject* known = find_pod(pass, action.pod);
  if (known == nullptr) co_return;
  const std::string uid = known->uid;
  const kube::ObjectKey key{pass.key.name_space, action.pod};
  const Result<Json> live = co_await pass.tools.client.get(kube::kPods, key);
  if (!live.ok()) {
    if (kube::fault_of(live.error()) != kube::ApiFault::kNotFound) {
      pass.outcome.note(live.error(), "read pod " + action.pod);
    }
    co_return;
  }
  const Result<kube::ObjectMeta> meta = kube::object_meta_from_json(*live);
  const kube::OwnerReference* owner = meta.ok() ? meta->controller() : nullptr;
  const bool is_ours = owner != nullptr && meta->uid == uid && owner->uid == pass.uid();
  if (!is_ours || meta->is_deleting() || !pass.is_as_planned(*meta)) {
    pass.outcome.look_again(kSoon);  // the store is behind
    co_return;
  }
  if (!breaker_allows(pass, action)) co_return;
  kube::DeleteOptions options;
  options.uid = uid;
  options.resource_version = meta->resource_version;
  const Status done = co_await pass.tools.client.remove(pass.key, kube::kPods, key, options);
  if (done.ok()) {
    log_info("pod deleted", {{"pod", key.to_string()}, {"why", action.reason}});
    note_way_back(pass, seen);
  } else if (kube::fault_of(done.error()) != kube::ApiFault::kNotFound) {
    pass.outcome.note(done.error(), "delete pod " + action.pod);
  }
}

net::Task<void> restart_engine(Pass& pass, const serving::ClusterObservation& seen, Action action) {
  const serving::PodObject* known = find_pod(pass, action.pod);
  if (known == nullptr || known->engine_index < 0) co_return;
  const serving::PodObject pod = *known;
  const Make make = make_of(pass, seen, action, pod.engine_image);
  OrderedJson body =
      serving::render_pod_retell(*make.owner, pass.tools.settings.pods, make.revision, pod);
  // A pod that changed since the plan was made is a conflict, and the next pass looks anew.
  body.push_back({{"op", "replace"},
                  {"path", "/metadata/resourceVersion"},
                  {"value", pass.planned[action.pod]}});
  kube::PatchOptions options;
  options.kind = kube::PatchKind::kJson;
  const kube::ObjectKey key{pass.key.name_space, action.pod};
  const Result<Json> done =
      co_await pass.tools.client.patch(pass.key, kube::kPods, key, dump_json(body), options);
  if (!done.ok()) {
    pass.outcome.note(done.error(), "patch pod " + action.pod);
    co_return;
  }
  log_info("pod told a new revision", {{"pod", key.to_string()}, {"why", action.reason}});
  note_way_back(pass, seen);
  pass.memory.pushed[pod.uid] = pass.tools.clock.now();
  pass.memory.facts.erase(pod.uid);  // they were of the engine before
  const Status pushed = co_await pass.tools.door.push_config(
      address_of(*pass.object, pod), serving::cluster_engine_config(make.owner->serving));
  if (!pushed.ok()) {
    // gather sends it again until noded reports it.
    log_debug("noded took no config", {{"pod", pod.name}, {"error", pushed.error().to_string()}});
  }
  pass.outcome.look_again(kSoon);
}

}  // namespace

net::Task<void> do_pod_deeds(Pass& pass, const serving::ClusterObservation& seen,
                             const std::vector<Action>& actions) {
  const bool creates =
      std::ranges::find(actions, ActionKind::kCreatePod, &Action::kind) != actions.end();
  const bool may_create = creates && co_await ensure_admin_secret(pass);
  const std::set<std::string> taken = co_await may_take(pass, seen, actions);
  for (const Action& action : actions) {
    switch (action.kind) {
      case ActionKind::kCreatePod:
        if (may_create) co_await create_pod(pass, seen, action);
        break;
      case ActionKind::kDrainPod:
      case ActionKind::kDeletePod:
        if (taken.contains(action.pod)) co_await delete_pod(pass, seen, action);
        break;
      case ActionKind::kRestartEngine:
        if (taken.contains(action.pod)) co_await restart_engine(pass, seen, action);
        break;
    }
  }
}

net::Task<void> adopt_pods(Pass& pass, const serving::ClusterObservation& seen) {
  const std::string& name = pass.object->serving.metadata.name;
  for (const serving::ForeignPod& foreign : seen.foreign) {
    const serving::PodObject* pod = find_pod(pass, foreign.name);
    if (pod == nullptr || pod->is_terminating()) continue;
    const auto ordinal = serving::ordinal_of_pod_name(name, pod->name);
    const bool ownerless = pod->owner_uid.empty() && pod->serving == name;
    if (!ordinal || (pod->owner_uid != pass.uid() && !ownerless)) continue;
    co_await judge_holder(pass, identity_of_pod(pass, foreign.name, *ordinal));
  }
}

net::Task<void> confirm_pods(Pass& pass, const serving::ClusterObservation& seen) {
  for (const serving::VerifiedPod& verified : seen.to_confirm) {
    const std::string& name = verified.name;
    const serving::PodObject* pod = find_pod(pass, name);
    // A deed of this very pass may have told it something else.
    if (pod == nullptr || pod->told_revision != verified.told_revision) continue;
    kube::PatchOptions options;
    options.kind = kube::PatchKind::kJson;
    const Result<Json> done =
        co_await pass.tools.client.patch(pass.key, kube::kPods, {pass.key.name_space, name},
                                         dump_json(serving::render_pod_confirm(*pod)), options);
    if (!done.ok() && kube::fault_of(done.error()) != kube::ApiFault::kNotFound) {
      pass.outcome.note(done.error(), "patch pod " + name);
    }
  }
}

net::Task<void> release_pods(Pass& pass, const serving::ClusterObservation& seen) {
  for (const std::string& name : seen.to_release) {
    const serving::PodObject* pod = find_pod(pass, name);
    if (pod == nullptr) continue;
    Json body;
    body["metadata"]["uid"] = pod->uid;
    body["metadata"]["annotations"] = {{serving::kAnnotationSafeToEvict, nullptr},
                                       {serving::kAnnotationDoNotDisrupt, nullptr}};
    kube::PatchOptions options;
    options.kind = kube::PatchKind::kMerge;
    const Result<Json> done = co_await pass.tools.client.patch(
        pass.key, kube::kPods, {pass.key.name_space, name}, dump_json(body), options);
    if (!done.ok() && kube::fault_of(done.error()) != kube::ApiFault::kNotFound) {
      pass.outcome.note(done.error(), "patch pod " + name);
    }
  }
}

}  // namespace kantha::cluster
