#include "operator/cluster/world_stores.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/json_text.h"
#include "base/rng.h"
#include "operator/runtime/gated_sink.h"
#include "operator/serving/children.h"

namespace kantha::cluster {
namespace {

constexpr const char* kManagedByLabel = "app.kubernetes.io/managed-by";

std::string child_selector() { return std::string(kManagedByLabel) + "=" + serving::kManagedBy; }

std::vector<std::string> child_index(const ChildObject& child) {
  return child.owner_uid.empty() ? std::vector<std::string>{} : std::vector{child.owner_uid};
}

std::vector<std::string> autoscaler_index(const ChildObject& hpa) {
  if (hpa.serving.empty()) return {};
  return {label_index_key({hpa.meta.key.name_space, hpa.serving})};
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

/// Whether a pass could come to anything else after a change.
bool is_news(Scope&, const StoredPod& before, const StoredPod& after) {
  serving::PodObject same = before.pod;
  same.resource_version = after.pod.resource_version;
  // A pod that was released to node autoscalers needs nothing more; one that is not, does.
  if (same.is_protected) same.is_protected = after.pod.is_protected;
  return same != after.pod;
}
bool is_news(Scope&, const ChildObject& before, const ChildObject& after) {
  return !is_same_content(before, after);
}
bool is_news(Scope& scope, const serving::ClusterServing& before,
             const serving::ClusterServing& after) {
  const auto told = scope.told.find(after.meta.key);
  if (told == scope.told.end()) return true;
  const std::size_t digest = told->second;
  scope.told.erase(told);
  kube::ObjectMeta meta = before.meta;
  meta.resource_version = after.meta.resource_version;
  return meta != after.meta || before.serving != after.serving ||
         before.problems != after.problems || std::hash<std::string>{}(after.status) != digest;
}

/// What is new is mostly what the operator itself has just made, and what a pod does next is worth
/// a pass: one is enough for all of it.
constexpr Duration kMoreToCome = std::chrono::seconds(1);

Duration patience_with(const runtime::StoreChange<serving::ClusterServing>&) { return {}; }
Duration patience_with(const runtime::StoreChange<ChildObject>& change) {
  // An HPA is mostly somebody else's.
  const bool is_ours = change.after && change.after->conditions.empty();
  return !change.before && is_ours ? kMoreToCome : Duration();
}
Duration patience_with(const runtime::StoreChange<StoredPod>& change) {
  if (!change.before) return kMoreToCome;
  if (!change.after || change.before->pod.node == change.after->pod.node) return {};
  serving::PodObject bound = change.before->pod;
  bound.resource_version = change.after->pod.resource_version;
  bound.node = change.after->pod.node;
  return bound == change.after->pod ? kMoreToCome : Duration();
}

/// Takes over what was found out about the same content.
template <class T>
void keep_findings(runtime::Store<T>&, const runtime::StoreChange<T>&) {}
void keep_findings(runtime::Store<ChildObject>& store,
                   const runtime::StoreChange<ChildObject>& change) {
  if (!change.before || !change.after || change.before->as_wanted == 0) return;
  if (change.before->digest != change.after->digest) return;
  store.amend(change.after, [&](ChildObject& child) {
    child.text = {};
    child.as_wanted = change.before->as_wanted;
  });
}

/// Tells gate and queue about every change of a store.
template <class T>
void connect(Scope& scope, runtime::Store<T>& store, const WorldStores::Trigger& trigger) {
  const std::string_view plural = store.resource().plural;
  store.on_change([&scope, &store, plural, trigger](const runtime::StoreChange<T>& change) {
    keep_findings(store, change);
    const auto& meta = change.after ? change.after->meta : change.before->meta;
    scope.gate.seen(plural, meta.key, change.after ? meta.uid : "", meta.resource_version,
                    meta.is_deleting());
    const bool tells =
        !change.before || !change.after || is_news(scope, *change.before, *change.after);
    for (const auto& object : {change.before, change.after}) {
      if (object == nullptr || serving_of(*object).empty()) continue;
      const kube::ObjectKey owner{object->meta.key.name_space, serving_of(*object)};
      // Who waits for a gate waits for events that tell nothing else, too.
      if (scope.at_gate.erase(owner) > 0) {
        trigger(owner, Duration());
      } else if (tells) {
        trigger(owner, patience_with(change));
      }
    }
  });
}

/// The store's own sink, which tells the gate, too, how far the kind was seen.
template <class T>
runtime::WatchSink gated_sink_of(Scope& scope, runtime::Store<T>& store,
                                 const WorldStores::Trigger& trigger) {
  runtime::WatchSink sink =
      runtime::gated(runtime::sink_of(store), scope.gate, store.resource().plural);
  sink.set_stale = [&scope, &store, trigger](bool is_stale) {
    if (is_stale == store.is_stale()) return;
    store.set_stale(is_stale);
    // Every object's condition says what can't be seen any more, and later that it can.
    scope.servings.for_each([&](const auto& object) { trigger(object->meta.key, Duration()); });
  };
  return sink;
}

template <class T>
std::optional<HeldVersion> held_in(const runtime::Store<T>& store, const kube::ObjectKey& key) {
  const auto object = store.find(key);
  if (object == nullptr) return std::nullopt;
  return HeldVersion{object->meta.uid, object->meta.resource_version, object->meta.is_deleting()};
}

/// Of a Scope or a const one.
auto* children_in(auto& scope, std::string_view plural) {
  for (auto* store :
       {&scope.services, &scope.budgets, &scope.accounts, &scope.config_maps, &scope.autoscalers}) {
    if (store->resource().plural == plural) return store;
  }
  return static_cast<decltype(&scope.services)>(nullptr);
}

constexpr std::array<const kube::Resource*, 7> kWatched = {
    &kube::kModelServings,   &kube::kPods,       &kube::kServices, &kube::kPodDisruptionBudgets,
    &kube::kServiceAccounts, &kube::kConfigMaps, &kAutoscalers};

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
      config_maps(kube::kConfigMaps, bare_child_from_json, child_index),
      autoscalers(kAutoscalers, autoscaler_from_json, autoscaler_index) {}

const runtime::Store<ChildObject>* Scope::children_of(std::string_view plural) const {
  return children_in(*this, plural);
}

runtime::Store<ChildObject>* Scope::children_of(std::string_view plural) {
  return children_in(*this, plural);
}

std::optional<Error> Scope::trouble_of(std::string_view plural) const {
  for (std::size_t i = 0; i < kWatched.size() && i < watchers.size(); ++i) {
    if (kWatched[i]->plural == plural) return watchers[i]->trouble();
  }
  return std::nullopt;
}

bool Scope::is_ready() const {
  if (!servings.is_synced() || !pods.is_synced()) return false;
  const std::array stores = {&services, &budgets, &accounts, &config_maps, &autoscalers};
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
  look(autoscalers, kAutoscalers);
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
  const auto add = [&](auto& store, std::string selector, kube::MemberNames unread = {},
                       kube::Content content = kube::Content::kWhole) {
    connect(scope, store, trigger_);
    const std::uint64_t seed =
        random_bits(seed_, scopes_.size() * kWatched.size() + scope.watchers.size());
    runtime::WatcherOptions options;
    options.resource = store.resource();
    options.name_space = scope.name_space;
    options.label_selector = std::move(selector);
    options.content = content;
    options.unread = unread;
    scope.watchers.push_back(std::make_unique<runtime::Watcher>(
        executor_, clock_, seed, client_, metrics_, std::move(options),
        gated_sink_of(scope, store, trigger_)));
  };
  scope.servings.on_change([&scope](const runtime::StoreChange<serving::ClusterServing>& change) {
    const bool is_scaled = change.after && change.after->serving.spec.autoscaling;
    const kube::ObjectKey& key = (change.after ? change.after : change.before)->meta.key;
    if (is_scaled) {
      scope.scaled.insert(key);
    } else {
      scope.scaled.erase(key);
    }
  });
  add(scope.servings, "");
  add(scope.pods, child_selector(), serving::kUnreadOfPods);
  add(scope.services, child_selector(), kUnreadOfChildren);
  add(scope.budgets, child_selector(), kUnreadOfChildren);
  add(scope.accounts, child_selector(), kUnreadOfChildren);
  add(scope.config_maps, child_selector(), {}, kube::Content::kMetadata);
  add(scope.autoscalers, "");
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

bool Scope::will_show(std::string_view plural, const Json* answer) const {
  if (plural == kube::kModelServings.plural) return true;
  const auto* children = children_of(plural);
  if (children == nullptr && plural != kube::kPods.plural) return false;
  if (children != nullptr && (children->is_stale() || !children->is_synced())) return false;
  if (answer == nullptr) return true;
  const auto metadata = answer->find("metadata");
  return metadata != answer->end() &&
         text_at(*metadata, "labels", kManagedByLabel) == serving::kManagedBy;
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
