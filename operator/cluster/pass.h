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
#include "operator/cluster/node_marks.h"
#include "operator/cluster/operator_settings.h"
#include "operator/cluster/pod_door.h"
#include "operator/cluster/rollout_board.h"
#include "operator/cluster/world_stores.h"
#include "operator/kube/event_recorder.h"
#include "operator/metricsapi/metric_table.h"
#include "operator/runtime/deletion_breaker.h"
#include "operator/serving/cluster_object.h"
#include "operator/serving/observe_cluster.h"
#include "operator/serving/plan_zero.h"
#include "operator/serving/render_activator_slice.h"
#include "operator/serving/rollout_evidence.h"
#include "operator/serving/scale_law.h"
#include "operator/serving/status_of.h"

/// What the steps of one pass over one ModelServing share: the tools, what is remembered between
/// passes, and what came out so far. One executor.
namespace kantha::cluster {

class ActivatorFeed;

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
  NodeMarks& nodes;
  RolloutBoard& rollouts;
  const metricsapi::MetricTable* samples;
  const ActivatorFeed* activators = nullptr;  ///< null: there are none
};

/// What is known of an object's slice of the activator (activator_slice.h).
struct DoorMemory {
  bool is_known = false;
  bool is_open = false;
  serving::ActivatorRoute route = {};  ///< as it was written
  TimePoint checked{};
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
  /// An object that somebody else makes, as it was looked for last.
  struct Sight {
    bool is_missing = false;
    TimePoint at{};
    Duration pause{};  ///< until it is looked for again
  };
  std::map<std::string, Sight> references = {};  ///< by "plural/name"
  /// Of the generation and the children's content when all of them were last found as they should
  /// be; 0: not yet.
  std::size_t children_checked = 0;
  std::string status_refusal = {};             ///< why the status can't be written; empty: it can
  std::optional<TimePoint> untold_since = {};  ///< the written status is behind, and may be for now
  serving::KnownTarget target = {};            ///< what follows from the spec of its generation
  serving::FactsByPod facts = {};              ///< what nodeds said of their engines, by pod uid
  serving::RolloutEvidence evidence = {};      ///< on the ring that bakes
  std::optional<TimePoint> judged_at = {};     ///< when all nodeds were last asked for it
  std::map<std::string, TimePoint> pushed = {};  ///< by pod uid: when it was last sent its config
  std::optional<serving::ScaleLaw> scale_law = {};  ///< where the operator itself scales
  serving::ScaleReason scale_reason = serving::ScaleReason::kNoSamples;
  std::optional<TimePoint> scaled_at = {};        ///< the law was asked last
  std::vector<serving::Decision> decisions = {};  ///< made and not yet in status
  /// What node autoscalers said of a pod that waits for a node.
  struct NodeNews {
    std::string uid;  ///< of that pod
    serving::ScaleUpNews news;
    TimePoint at{};
  };
  std::optional<NodeNews> node_news = {};
  serving::ZeroMemory zero = {};
  DoorMemory door = {};
  std::optional<std::int64_t> zero_wrote = {};  ///< the count that was written last to or from zero
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
