#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "operator/cluster/child_object.h"
#include "operator/cluster/guarded_client.h"
#include "operator/runtime/store.h"
#include "operator/runtime/watcher.h"
#include "operator/runtime/write_gate.h"
#include "operator/serving/cluster_object.h"

/// What the operator sees of the cluster: one set of stores and watchers for each namespace that it
/// serves, or one for all. Never Secrets. One executor.
namespace kantha::cluster {

/// Pods are indexed by the uid of their controlling owner, and under this key by their label.
std::string label_index_key(const kube::ObjectKey& serving);

/// The stores of one namespace (or of all), and who fills them.
struct Scope {
  explicit Scope(std::string name_space);

  std::string name_space;  ///< empty: all
  runtime::Store<serving::ClusterServing> servings;
  runtime::Store<StoredPod> pods;
  runtime::Store<ChildObject> services;
  runtime::Store<ChildObject> budgets;
  runtime::Store<ChildObject> accounts;
  runtime::Store<ChildObject> config_maps;  ///< without content: revisions are immutable
  runtime::Store<ChildObject> autoscalers;  ///< everybody's: ours, and those that are in its way
  std::set<kube::ObjectKey> scaled;         ///< ModelServings with spec.autoscaling
  runtime::WriteGate gate;
  /// ModelServings whose pass waits for the gate; each is woken by the next event about it.
  std::unordered_set<kube::ObjectKey> at_gate;
  /// Digests of status texts after which a pass had nothing left to do: their events are no news.
  /// Each is for the next event about its ModelServing.
  std::unordered_map<kube::ObjectKey, std::size_t> told;
  std::vector<std::unique_ptr<runtime::Watcher>> watchers;  ///< in the order of the stores above

  /// The store of a kind of child; nullptr for others.
  const runtime::Store<ChildObject>* children_of(std::string_view plural) const;
  runtime::Store<ChildObject>* children_of(std::string_view plural);
  /// Whether stores may be acted on: servings and pods are whole, and every other kind is whole or
  /// refused to us (that kind is then left alone).
  bool is_ready() const;
  /// ModelServings or pods can't be read at all, so that nothing is done in this namespace.
  bool is_blind() const;
  /// Kinds that were seen and can't be seen any more.
  std::vector<const kube::Resource*> stale_kinds() const;
  /// Why a kind can't be watched, if it can't.
  std::optional<Error> trouble_of(std::string_view plural) const;
  std::optional<HeldVersion> held(std::string_view plural, const kube::ObjectKey& key) const;
  /// Whether a write will be seen in a store, so that it makes sense to wait for it. `answer`: the
  /// object as it was written (nullptr: it was deleted); without our label no watch has it. A kind
  /// of child that is refused to us shows nothing.
  bool will_show(std::string_view plural, const Json* answer) const;
};

class WorldStores {
 public:
  /// Called with the ModelServing that a change concerns, and how long it may wait for others.
  using Trigger = std::function<void(const kube::ObjectKey& serving, Duration wait)>;

  WorldStores(boost::asio::any_io_executor executor, const Clock& clock, std::uint64_t seed,
              kube::ApiClient& client, MetricRegistry& metrics,
              const std::vector<std::string>& namespaces, Trigger trigger);
  WorldStores(const WorldStores&) = delete;
  WorldStores& operator=(const WorldStores&) = delete;
  ~WorldStores();

  /// The scope that an object of that namespace is in; nullptr when it is not served.
  Scope* scope_of(const std::string& name_space);
  const std::vector<std::unique_ptr<Scope>>& scopes() const { return scopes_; }
  /// Every namespace is ready, or can't be seen and has a trouble that says why.
  bool is_ready() const;
  /// Namespaces that may be worked on.
  std::size_t ready_count() const;
  /// Pods of all objects, for the deletion breaker.
  std::size_t pod_count() const;

  /// Runs every watcher until stop().
  net::Task<void> run();
  void stop();

 private:
  void add_watchers(Scope& scope);

  boost::asio::any_io_executor executor_;
  const Clock& clock_;
  std::uint64_t seed_;
  kube::ApiClient& client_;
  MetricRegistry& metrics_;
  Trigger trigger_;
  net::TaskGroup tasks_;
  std::vector<std::unique_ptr<Scope>> scopes_;
};

}  // namespace kantha::cluster
