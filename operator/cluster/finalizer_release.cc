#include "operator/cluster/finalizer_release.h"

#include <algorithm>
#include <utility>

#include "base/net/task_group.h"
#include "operator/kube/api_fault.h"
#include "operator/kube/object_meta.h"
#include "operator/runtime/lease_record.h"
#include "operator/serving/children.h"

namespace kantha::cluster {
namespace {

constexpr kube::Resource kDeployments{"apps", "v1", "deployments", "Deployment"};
constexpr Duration kAskAgain = std::chrono::seconds(1);
/// An operator without election is told to end by its kubelet; a call of its may be under way.
constexpr Duration kLastCall = std::chrono::seconds(5);
constexpr int kTriesMax = 5;

bool is_gone(const Error& error) { return kube::fault_of(error) == kube::ApiFault::kNotFound; }

bool holds_back(const kube::ObjectMeta& meta) {
  return std::find(meta.finalizers.begin(), meta.finalizers.end(), serving::kFinalizerDrain) !=
         meta.finalizers.end();
}

std::string release_patch(const kube::ObjectMeta& meta) {
  Json body;
  body["metadata"]["uid"] = meta.uid;
  body["metadata"]["resourceVersion"] = meta.resource_version;
  body["metadata"]["finalizers"] = Json::array();
  for (const std::string& other : meta.finalizers) {
    if (other != serving::kFinalizerDrain) body["metadata"]["finalizers"].push_back(other);
  }
  return dump_json(body);
}

class Release {
 public:
  Release(kube::ApiClient& client, const Clock& clock, FinalizerRelease what,
          std::function<void(const std::string&)> tell)
      : client_(client),
        clock_(clock),
        what_(std::move(what)),
        tell_(std::move(tell)),
        deadline_(clock.now() + what_.patience) {
    if (what_.namespaces.empty()) what_.namespaces.emplace_back();
  }

  net::Task<Status> run() {
    if (what_.deployment) CO_TRY_OK(co_await end_operator(*what_.deployment));
    if (what_.lease) CO_TRY_OK(co_await await_free_lease(*what_.lease));
    co_await release_all();
    if (what_.deployment && !what_.lease) {
      co_await net::sleep_for(kLastCall);
      co_await release_all();
    }
    tell_("released " + std::to_string(released_) + " of " + std::to_string(seen_) +
          " ModelServings");
    if (!failure_.ok()) co_return failure_;
    if (what_.lease) CO_TRY_OK(co_await delete_lease(*what_.lease));
    co_return ok_status();
  }

 private:
  Status check_time(const std::string& what) const {
    if (clock_.now() < deadline_) return ok_status();
    return Error{Code::kDeadlineExceeded, what + "; nothing was released"};
  }

  /// Each look is the same patch: scale is the only right that it takes.
  net::Task<Status> end_operator(kube::ObjectKey deployment) {
    kube::PatchOptions options;
    options.kind = kube::PatchKind::kMerge;
    options.subresource = "scale";
    const std::string name = "Deployment " + deployment.to_string();
    bool is_told = false;
    while (true) {
      const Result<Json> scale =
          co_await client_.patch(kDeployments, deployment, R"({"spec":{"replicas":0}})", options);
      if (!scale.ok() && is_gone(scale.error())) {
        tell_(name + " is not there");
        co_return ok_status();
      }
      if (!scale.ok()) co_return Error(scale.error()).with_context("scale " + name);
      if (!std::exchange(is_told, true)) tell_(name + " is scaled to 0");
      if (scale->value(Json::json_pointer("/status/replicas"), std::int64_t{0}) == 0) {
        co_return ok_status();
      }
      CO_TRY_OK(check_time(name + " still has pods"));
      co_await net::sleep_for(kAskAgain);
    }
  }

  /// Free: given back, or not renewed for as long as it says, by our own clock.
  net::Task<Status> await_free_lease(kube::ObjectKey lease) {
    const std::string name = "Lease " + lease.to_string();
    std::optional<runtime::LeaseRecord> last;
    TimePoint since = clock_.now();
    while (true) {
      const Result<Json> live = co_await client_.get(kube::kLeases, lease);
      if (!live.ok() && is_gone(live.error())) co_return ok_status();
      if (!live.ok()) co_return Error(live.error()).with_context("read " + name);
      const runtime::LeaseRecord record = runtime::lease_record_from_json(*live);
      if (record.holder.empty()) co_return ok_status();
      if (!last || !(record == *last)) {
        last = record;
        since = clock_.now();
      } else if (clock_.now() - since > std::chrono::seconds(record.duration_seconds)) {
        tell_(name + " was held by " + record.holder + ", which is gone");
        co_return ok_status();
      }
      CO_TRY_OK(check_time(name + " is still held by " + record.holder));
      co_await net::sleep_for(kAskAgain);
    }
  }

  net::Task<void> release_all() {
    seen_ = 0;
    for (const std::string& name_space : what_.namespaces) {
      co_await release_namespace(name_space);
    }
  }

  void fail(Error error) {
    tell_(error.message);
    failure_ = std::move(error);
  }

  net::Task<void> release_namespace(std::string name_space) {
    kube::ListOptions options;
    do {
      Result<kube::ObjectPage> page =
          co_await client_.list(kube::kModelServings, name_space, options);
      if (!page.ok() && is_gone(page.error())) {
        tell_("the cluster does not know ModelServing");
        co_return;
      }
      if (!page.ok()) {
        fail(std::move(page).error().with_context("list ModelServings"));
        co_return;
      }
      for (const Json& object : page->items) co_await release_one(object);
      options.continue_token = page->continue_token;
    } while (!options.continue_token.empty());
  }

  net::Task<void> release_one(Json object) {
    ++seen_;
    for (int attempt = 1;; ++attempt) {
      const Result<kube::ObjectMeta> meta = kube::object_meta_from_json(object);
      if (!meta.ok() || !holds_back(*meta)) co_return;
      kube::PatchOptions options;
      options.kind = kube::PatchKind::kMerge;
      const Result<Json> done =
          co_await client_.patch(kube::kModelServings, meta->key, release_patch(*meta), options);
      if (done.ok()) {
        ++released_;
        tell_("ModelServing " + meta->key.to_string() + " is released");
        co_return;
      }
      if (is_gone(done.error())) co_return;
      const bool is_conflict = kube::fault_of(done.error()) == kube::ApiFault::kConflict;
      if (!is_conflict || attempt == kTriesMax) {
        fail(Error(done.error()).with_context("release ModelServing " + meta->key.to_string()));
        co_return;
      }
      Result<Json> live = co_await client_.get(kube::kModelServings, meta->key);
      if (!live.ok() && !is_gone(live.error())) {
        fail(std::move(live).error().with_context("read ModelServing " + meta->key.to_string()));
      }
      if (!live.ok()) co_return;
      object = std::move(live).value();
    }
  }

  net::Task<Status> delete_lease(kube::ObjectKey lease) {
    const std::string name = "Lease " + lease.to_string();
    const Result<Json> live = co_await client_.get(kube::kLeases, lease);
    if (!live.ok() && is_gone(live.error())) co_return ok_status();
    if (!live.ok()) co_return Error(live.error()).with_context("read " + name);
    CO_TRY(const kube::ObjectMeta meta, kube::object_meta_from_json(*live));
    kube::DeleteOptions options;
    options.uid = meta.uid;
    options.resource_version = meta.resource_version;
    const Status done = co_await client_.remove(kube::kLeases, lease, options);
    if (!done.ok() && !is_gone(done.error())) {
      co_return Error(done.error()).with_context("delete " + name);
    }
    tell_(name + " is deleted");
    co_return ok_status();
  }

  kube::ApiClient& client_;
  const Clock& clock_;
  FinalizerRelease what_;
  std::function<void(const std::string&)> tell_;
  TimePoint deadline_;
  std::int64_t seen_ = 0;
  std::int64_t released_ = 0;
  Status failure_ = ok_status();
};

}  // namespace

net::Task<Status> release_finalizers(kube::ApiClient& client, const Clock& clock,
                                     FinalizerRelease what,
                                     std::function<void(const std::string&)> tell) {
  Release release(client, clock, std::move(what), std::move(tell));
  co_return co_await release.run();
}

}  // namespace kantha::cluster
