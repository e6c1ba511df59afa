#include "operator/cluster/world_stores.h"

#include <algorithm>
#include <array>

#include "base/rng.h"
#include "operator/serving/children.h"

namespace kantha::cluster {
namespace {

std::string child_selector() {
  return std::string("app.kubernetes.io/managed-by=") + serving::kManagedBy;
}

std::vector<std::string> child_index(const ChildObject& child) {
  return child.owner_uid.empty() ? std::vector<std::string>{} : std::vector{child.owner_uid};
}

std::vector<std::string> pod_index(const StoredPod& stored) {
  const serving::PodObject& pod = stored.pod;
  std::vector<std::string> keys;
  if (!pod.owner_uid.empty()) keys.push_back(pod.owner_uid);
  if (!pod.serving.empty()) keys.push_back(label_index_key({pod.name_space, pod.serving}));
  return keys;
}

const std::string& serving_of(const serving::ClusterServing& object) {
  return object.meta.key.name;
}
const std::string& serving_of(const ChildObject& child) { return child.serving; }
/// By its label, else by its owner ("ModelServing/smollm2").
std::string serving_of(const StoredPod& stored) {
  const std::string& owner = stored.pod.owner_name;
  const std::string kind = std::string(serving::kKind) + "/";
  if (!stored.pod.serving.empty() || !owner.starts_with(kind)) return stored.pod.serving;
  return owner.substr(kind.size());
}

/// Tells gate and queue about every change of a store.
template <class T>
void connect(Scope& scope, runtime::Store<T>& store, const WorldStores::Trigger& trigger) {
  const std::string_view plural = store.resource().plural;
  store.on_change([&scope, plural, trigger](const runtime::StoreChange<T>& change) {
    const kube::ObjectMeta& meta = change.after ? change.after->meta : change.before->meta;
    scope.gate.seen(plural, meta.key, change.after ? meta.uid : "", meta.resource_version,
                    meta.is_deleting());
    for (const auto& object : {change.before, change.after}) {
      if (object != nullptr && !serving_of(*object).empty()) {
        trigger({object->meta.key.name_space, serving_of(*object)});
      }
    }
  });
}

/// The store's own sink, which tells the gate, too, how far the kind was seen.
template <class T>
runtime::WatchSink gated_sink_of(Scope& scope, runtime::Store<T>& store,
                                 const WorldStores::Trigger& trigger) {
  const std::string_view plural = store.resource().plural;
  runtime::WatchSink sink = runtime::sink_of(store);
  const auto and_gate = [&scope, plural](std::function<void(std::string)> inner) {
    return [&scope, plural, inner = std::move(inner)](std::string version) {
      inner(version);
      scope.gate.seen_all(plural, version);
    };
  };
  sink.publish = and_gate(std::move(sink.publish));
  sink.seen_version = and_gate(std::move(sink.seen_version));
  sink.set_stale = [&scope, &store, trigger](bool is_stale) {
    if (is_stale == store.is_stale()) return;
    store.set_stale(is_stale);
    // Every object's condition says what can't be seen any more, and later that it can.
    for (const auto& object : scope.servings.all()) trigger(object->meta.key);
  };
  return sink;
}

template <class T>
std::optional<HeldVersion> held_in(const runtime::Store<T>& store, const kube::ObjectKey& key) {
  const auto object = store.find(key);
  if (object == nullptr) return std::nullopt;
  return HeldVersion{object->meta.uid, object->meta.resource_version, object->meta.is_deleting()};
}

constexpr std::array<const kube::Resource*, 6> kWatched = {
    &kube::kModelServings,   &kube::kPods,      &kube::kServices, &kube::kPodDisruptionBudgets,
    &kube::kServiceAccounts, &kube::kConfigMaps};

}  // namespace

std::string label_index_key(const kube::ObjectKey& serving) {
  return "label:" + serving.to_string();
}

Scope::Scope(std::string name_space)
    : name_space(std::move(name_space)),
      servings(kube::kModelServings, serving::cluster_serving_from_json),
      pods(kube::kPods, stored_pod_from_json, pod_index),
      services(kube::kServices, child_object_from_json, child_index),
      budgets(kube::kPodDisruptionBudgets, child_object_from_json, child_index),
      accounts(kube::kServiceAccounts, child_object_from_json, child_index),
      config_maps(kube::kConfigMaps, bare_child_from_json, child_index) {}

const runtime::Store<ChildObject>* Scope::children_of(std::string_view plural) const {
  for (const auto* store : {&services, &budgets, &accounts, &config_maps}) {
    if (store->resource().plural == plural) return store;
  }
  return nullptr;
}

std::optional<Error> Scope::trouble_of(std::string_view plural) const {
  for (std::size_t i = 0; i < kWatched.size() && i < watchers.size(); ++i) {
    if (kWatched[i]->plural == plural) return watchers[i]->trouble();
  }
  return std::nullopt;
}

bool Scope::is_ready() const {
  if (!servings.is_synced() || !pods.is_synced()) return false;
  const std::array stores = {&services, &budgets, &accounts, &config_maps};
  return std::all_of(stores.begin(), stores.end(), [&](const auto* store) {
    return store->is_synced() || trouble_of(store->resource().plural);
  });
}

bool Scope::is_blind() const {
  const bool sees_no_servings = !servings.is_synced() && trouble_of(kube::kModelServings.plural);
  return sees_no_servings || (!pods.is_synced() && trouble_of(kube::kPods.plural));
}

std::vector<const kube::Resource*> Scope::stale_kinds() const {
  std::vector<const kube::Resource*> out;
  const auto look = [&](const auto& store, const kube::Resource& resource) {
    if (store.is_stale()) out.push_back(&resource);
  };
  look(servings, kube::kModelServings);
  look(pods, kube::kPods);
  look(services, kube::kServices);
  look(budgets, kube::kPodDisruptionBudgets);
  look(accounts, kube::kServiceAccounts);
  look(config_maps, kube::kConfigMaps);
  return out;
}

std::optional<HeldVersion> Scope::held(std::string_view plural, const kube::ObjectKey& key) const {
  if (plural == kube::kModelServings.plural) return held_in(servings, key);
  if (plural == kube::kPods.plural) return held_in(pods, key);
  const auto* store = children_of(plural);
  return store == nullptr ? std::nullopt : held_in(*store, key);
}

WorldStores::WorldStores(boost::asio::any_io_executor executor, const Clock& clock,
                         std::uint64_t seed, kube::ApiClient& client, MetricRegistry& metrics,
                         const std::vector<std::string>& namespaces, Trigger trigger)
    : executor_(executor),
      clock_(clock),
      seed_(seed),
      client_(client),
      metrics_(metrics),
      trigger_(std::move(trigger)),
      tasks_(executor, "watchers") {
  std::vector<std::string> wanted = namespaces;
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  if (wanted.empty()) wanted.emplace_back();
  for (std::string& name_space : wanted) {
    scopes_.push_back(std::make_unique<Scope>(std::move(name_space)));
    add_watchers(*scopes_.back());
  }
}

WorldStores::~WorldStores() = default;

void WorldStores::add_watchers(Scope& scope) {
  const auto add = [&](auto& store, std::string selector,
                       kube::Content content = kube::Content::kWhole) {
    connect(scope, store, trigger_);
    const std::uint64_t seed =
        random_bits(seed_, scopes_.size() * kWatched.size() + scope.watchers.size());
    runtime::WatcherOptions options;
    options.resource = store.resource();
    options.name_space = scope.name_space;
    options.label_selector = std::move(selector);
    options.content = content;
    scope.watchers.push_back(std::make_unique<runtime::Watcher>(
        executor_, clock_, seed, client_, metrics_, std::move(options),
        gated_sink_of(scope, store, trigger_)));
  };
  add(scope.servings, "");
  add(scope.pods, child_selector());
  add(scope.services, child_selector());
  add(scope.budgets, child_selector());
  add(scope.accounts, child_selector());
  add(scope.config_maps, child_selector(), kube::Content::kMetadata);
}

Scope* WorldStores::scope_of(const std::string& name_space) {
  for (const auto& scope : scopes_) {
    if (scope->name_space.empty() || scope->name_space == name_space) return scope.get();
  }
  return nullptr;
}

bool WorldStores::is_ready() const {
  return std::all_of(scopes_.begin(), scopes_.end(),
                     [](const auto& scope) { return scope->is_ready() || scope->is_blind(); });
}

std::size_t WorldStores::ready_count() const {
  return static_cast<std::size_t>(std::count_if(
      scopes_.begin(), scopes_.end(), [](const auto& scope) { return scope->is_ready(); }));
}

std::size_t WorldStores::pod_count() const {
  std::size_t count = 0;
  for (const auto& scope : scopes_) count += scope->pods.size();
  return count;
}

bool WorldStores::is_watched(std::string_view plural) {
  return std::any_of(kWatched.begin(), kWatched.end(),
                     [&](const auto* resource) { return resource->plural == plural; });
}

net::Task<void> WorldStores::run() {
  for (const auto& scope : scopes_) {
    for (const auto& watcher : scope->watchers) tasks_.spawn(watcher->run());
  }
  co_await tasks_.join();
}

void WorldStores::stop() {
  for (const auto& scope : scopes_) {
    for (const auto& watcher : scope->watchers) watcher->stop();
  }
}

}  // namespace kantha::cluster
