#include "operator/cluster/finalizer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "operator/cluster/live_pods.h"
#include "operator/cluster/pod_deeds.h"
#include "operator/kube/api_fault.h"
#include "operator/serving/children.h"

namespace kantha::cluster {
namespace {

constexpr Duration kSoon = std::chrono::seconds(2);

bool has_finalizer(const kube::ObjectMeta& meta) {
  return std::find(meta.finalizers.begin(), meta.finalizers.end(), serving::kFinalizerDrain) !=
         meta.finalizers.end();
}

/// Whether a pod on the API server itself, which the stores may not have seen, waits to be drained.
bool holds_back(const Pass& pass, const Json& pod) {
  const Result<serving::PodObject> seen = serving::pod_object_from_json(pod);
  return seen.ok() && seen->owner_uid == pass.uid() && !seen->is_terminating();
}

/// Looks for pods of ours that the stores do not know yet.
net::Task<bool> nothing_is_left(Pass& pass) {
  const auto pods = co_await live_pods(pass);
  if (!pods) co_return false;
  for (const Json& pod : *pods) {
    if (!holds_back(pass, pod)) continue;
    pass.outcome.look_again(kSoon);
    co_return false;
  }
  co_return true;
}

net::Task<bool> remove_finalizer(Pass& pass) {
  const Result<Json> live = co_await pass.tools.client.get(kube::kModelServings, pass.key);
  if (!live.ok()) {
    if (kube::fault_of(live.error()) == kube::ApiFault::kNotFound) co_return true;
    pass.outcome.note(live.error(), "read ModelServing " + pass.key.to_string());
    co_return false;
  }
  const Result<kube::ObjectMeta> meta = kube::object_meta_from_json(*live);
  if (!meta.ok() || meta->uid != pass.uid() || !meta->is_deleting() || !has_finalizer(*meta)) {
    co_return true;  // it is another object, or already done
  }
  Json body;
  body["metadata"]["uid"] = meta->uid;
  body["metadata"]["resourceVersion"] = meta->resource_version;
  body["metadata"]["finalizers"] = Json::array();
  for (const std::string& other : meta->finalizers) {
    if (other != serving::kFinalizerDrain) body["metadata"]["finalizers"].push_back(other);
  }
  kube::PatchOptions options;
  options.kind = kube::PatchKind::kMerge;
  const Result<Json> done = co_await pass.tools.client.patch(pass.key, kube::kModelServings,
                                                             pass.key, dump_json(body), options);
  if (done.ok() || kube::fault_of(done.error()) == kube::ApiFault::kNotFound) {
    log_info("object released", {{"object", pass.key.to_string()}});
    co_return true;
  }
  pass.outcome.note(done.error(), "remove the finalizer of " + pass.key.to_string());
  co_return false;
}

}  // namespace

net::Task<bool> ensure_finalizer(Pass& pass) {
  if (has_finalizer(pass.object->meta)) co_return true;
  OrderedJson body;
  body["apiVersion"] = serving::kApiVersion;
  body["kind"] = serving::kKind;
  body["metadata"]["name"] = pass.key.name;
  body["metadata"]["namespace"] = pass.key.name_space;
  // With its uid an apply cannot make the object anew when it was deleted meanwhile.
  body["metadata"]["uid"] = pass.uid();
  body["metadata"]["finalizers"] = OrderedJson::array({serving::kFinalizerDrain});
  kube::PatchOptions options;
  options.field_manager = serving::kFieldManager;
  options.force = true;
  const Result<Json> done = co_await pass.tools.client.patch(pass.key, kube::kModelServings,
                                                             pass.key, dump_json(body), options);
  if (done.ok()) {
    const Result<kube::ObjectMeta> meta = kube::object_meta_from_json(*done);
    if (meta.ok()) pass.version = meta->resource_version;
    co_return true;
  }
  if (kube::fault_of(done.error()) == kube::ApiFault::kNotFound) {
    pass.outcome.look_again(kSoon);
  } else {
    pass.outcome.note(done.error(), "add the finalizer to " + pass.key.to_string());
  }
  co_return false;
}

net::Task<bool> finalize(Pass& pass, const serving::ClusterObservation& seen,
                         const serving::ClusterPlan& plan) {
  if (!has_finalizer(pass.object->meta)) co_return true;
  co_await do_pod_deeds(pass, seen, plan.plan.actions);
  if (!plan.release_finalizer || pass.outcome.error) co_return false;
  const bool clear = co_await nothing_is_left(pass);
  if (!clear) co_return false;
  co_return co_await remove_finalizer(pass);
}

}  // namespace kantha::cluster
