#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "operator/cluster/fleet_feed.h"
#include "operator/cluster/guarded_client.h"
#include "operator/cluster/operator_settings.h"
#include "operator/cluster/pod_door.h"
#include "operator/cluster/world_stores.h"
#include "operator/kube/event_recorder.h"
#include "operator/runtime/deletion_breaker.h"
#include "operator/serving/cluster_object.h"
#include "operator/serving/observe_cluster.h"
#include "operator/serving/status_of.h"

/// What the steps of one pass over one ModelServing share: the tools, what is remembered between
/// passes, and what came out so far. One executor.
namespace kantha::cluster {

/// The operator's hands; all outlive every pass.
struct Tools {
  const Clock& clock;
  const OperatorSettings& settings;
  GuardedClient& client;
  PodDoor& door;
  kube::EventRecorder& events;
  runtime::DeletionBreaker& breaker;
  WorldStores& stores;
  FleetFeed& fleet;
};

/// What this process remembers of one object. Losing it costs a few calls and nothing else.
struct ObjectMemory {
  std::string uid;
  std::optional<TimePoint> secret_checked = {};  ///< the admin Secret was ours then
  /// Repairs of children, by "plural/name": what was written, and when.
  struct Repair {
    std::size_t digest = 0;
    TimePoint at{};
  };
  std::map<std::string, Repair> repairs = {};
  /// Generation, and the children's versions, when all of them were last found as they should be.
  std::string children_checked = {};
  std::string status_refusal = {};             ///< why the status can't be written; empty: it can
  std::optional<TimePoint> untold_since = {};  ///< the written status is behind, and may be for now
  serving::FactsByPod facts = {};              ///< what nodeds said of their engines, by pod uid
  std::map<std::string, TimePoint> pushed = {};  ///< by pod uid: when it was last sent its config
  /// Since when a claim of another pass has stood in the way (capacity_claim.h).
  std::map<std::string, TimePoint> claims_met = {};
};

/// What a pass has come to.
struct Outcome {
  std::vector<serving::Trouble> troubles = {};  ///< what a person may have to mend
  std::optional<Duration> again = {};           ///< the earliest wish for another look
  std::optional<Error> error = {};              ///< the first failure that the queue shall retry
  /// Pods were made: what was observed is history, and their events bring the next pass at once.
  bool made_pods = false;
  bool wrote_child = false;  ///< a child other than a pod was made or repaired, or that was tried

  /// Whether what was observed still holds well enough to be told.
  bool is_worth_telling() const { return !made_pods || error || !troubles.empty(); }

  void look_again(Duration after) { again = again ? std::min(*again, after) : after; }
  void merge(Outcome other);
  void add(serving::Trouble trouble);
  /// Sorts a failure: lost leadership ends quietly, refusals become troubles, the rest is retried.
  void note(const Error& failure, const std::string& what);
};

/// One pass over one object.
struct Pass {
  Tools& tools;
  Scope& scope;
  kube::ObjectKey key;
  std::shared_ptr<const serving::ClusterServing> object;
  ObjectMemory& memory;
  Outcome outcome = {};
  /// resourceVersion of the object as this pass knows it: as planned for, or as it wrote it last.
  std::string version = object->meta.resource_version;
  /// resourceVersions of the pods that the plan was made from, by name. What takes capacity away
  /// acts on just these: a pod that has changed since may be the one that another counts on.
  std::map<std::string, std::string> planned = {};

  const std::string& uid() const { return object->meta.uid; }
  /// A pod, read just now, is the one, in the state, that the plan was made from.
  bool is_as_planned(const kube::ObjectMeta& live) const;
};

}  // namespace kantha::cluster
