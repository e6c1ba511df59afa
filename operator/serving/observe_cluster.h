#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "noded/api/pod_state.h"
#include "operator/serving/cluster_object.h"
#include "operator/serving/cluster_revision.h"
#include "operator/serving/plan.h"
#include "operator/serving/pod_object.h"
#include "operator/serving/weights_condition.h"

/// The cluster as the planner sees it. Pure; any thread.
namespace kantha::serving {

/// The same instant on both clocks.
struct Moment {
  TimePoint now;
  WallTime wall;
};

/// What a pod's noded said when it was asked last.
struct NodedFacts {
  std::string config_hash;  ///< of the file that its engine runs with
  bool engine_ready = false;
  bool draining = false;
  std::int64_t streams = 0;
  std::string message;
  std::optional<noded::WeightsState> weights = {};  ///< when it brings them
};
NodedFacts noded_facts(const noded::PodState& state);

/// By the uid of the pod, so that a predecessor of the same name never counts.
using FactsByPod = std::map<std::string, NodedFacts>;

/// A pod that carries our labels or a name of ours and is not ours.
struct ForeignPod {
  std::string name;
  std::string why;  ///< "is controlled by ReplicaSet/web"
  bool operator==(const ForeignPod&) const = default;
};

/// Pods that wait for a node, and what the scheduler says.
struct CapacityNeed {
  std::int64_t pods = 0;
  std::string message;  ///< of the first of them
};

struct ClusterObservation {
  Observed observed;
  /// Why no pod may be touched: InvalidSpec; empty when the spec can be served.
  std::string hold_reason;
  std::string hold_message;
  std::vector<ForeignPod> foreign;
  CapacityNeed capacity;
  bool any_ready = false;  ///< some pod's engine has its weights
  /// What nodeds of pods that are not ready say of the weights they bring.
  std::vector<PodWeightsView> weights;
  /// Ready pods that still keep node autoscalers away.
  std::vector<std::string> to_release;
  /// Pods whose noded must be asked before the plan can go on: running pods that were told a
  /// revision after their birth and are not known to run it.
  std::vector<std::string> to_ask;
  /// Pods that are known to run what they were told only because their noded was asked
  /// (render_pod_confirm): once that is noted on them, a restart of the operator asks nobody.
  std::vector<std::string> to_confirm;
  /// When the same facts would be seen differently, without any event.
  std::optional<WallTime> look_again;
};

/// `pods`: every pod that claims to belong to the object, by its label or by its owner reference.
///
/// Ours is a pod whose controlling owner is this very object (uid), with role replica and an
/// ordinal that its name confirms. Everything else is foreign: never changed, never deleted, but
/// its name is taken.
///
/// A pod's revision is born-revision while it was never told another; else told-revision once it is
/// noted as verified, or noded reports the hash of the config it was told and the engine runs the
/// image (runs_told_image); else unknown. A pod that was told back to what it was born with is one
/// that was told: its engine still runs the other.
ClusterObservation observe_cluster(const ClusterServing& owner, const ClusterSettings& settings,
                                   const std::vector<const PodObject*>& pods,
                                   const FactsByPod& facts, Moment at);

}  // namespace kantha::serving
