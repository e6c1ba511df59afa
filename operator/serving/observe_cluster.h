#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "noded/api/pod_state.h"
#include "operator/serving/cluster_object.h"
#include "operator/serving/cluster_revision.h"
#include "operator/serving/image_pull.h"
#include "operator/serving/plan.h"
#include "operator/serving/pod_object.h"
#include "operator/serving/rollout_state.h"
#include "operator/serving/scale_up_news.h"
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
  noded::ServiceSample sample = {};                 ///< what its engine answered
  std::int64_t engine_restarts = 0;
  TimePoint taken{};                              ///< when it said so; not set by noded_facts
  double kv_share = 0;                            ///< KV blocks in use over all of its engine's
  std::int64_t kv_streams = 0;                    ///< requests at that moment
  std::optional<noded::GoldenState> golden = {};  ///< when it has golden prompts
  std::string tokenizer_hash = {};                ///< of its engine; empty: not known
};
NodedFacts noded_facts(const noded::PodState& state);
/// KV blocks in use over all of them; 0 where nothing is known.
double kv_share_of(const noded::PodState& state);

/// By the uid of the pod, so that a predecessor of the same name never counts.
using FactsByPod = std::map<std::string, NodedFacts>;

/// Reason of Degraded while pods of one revision tokenise differently.
inline constexpr const char* kTokenizerSkew = "TokenizerSkew";

/// A pod that carries our labels or a name of ours and is not ours.
struct ForeignPod {
  std::string name;
  std::string why;  ///< "is controlled by ReplicaSet/web"
  bool operator==(const ForeignPod&) const = default;
};

/// Pods that wait for a node, and what the scheduler says.
struct CapacityNeed {
  std::int64_t pods = 0;
  std::string message = {};  ///< of the first of them
  std::string pod = {};      ///< its name
  std::string uid = {};
  ScaleUpNews news = {};  ///< of node autoscalers, on it
};

/// What a rollout needs beside the pods.
struct RolloutView {
  RolloutState state;       ///< as status.rollout has it
  std::string target_spec;  ///< revision_spec_text of the target
  /// The object as its last good revision had it; nullopt: there is none, or not any more.
  std::optional<ClusterServing> good = {};
  std::optional<Revision> good_revision = {};
  /// The target's engine image by digest, as the first pod or pull that has it shows it; empty:
  /// none does, or there is no tag that could move.
  std::string image = {};
};

/// A pod that was seen to run what it was told, and what that was: by the time that this is written
/// down it may have been told something else.
struct VerifiedPod {
  std::string name;
  std::string told_revision;
  bool operator==(const VerifiedPod&) const = default;
};

/// What follows from a spec alone. Worth keeping from one look to the next: finding it costs more
/// than all the rest of a look.
struct KnownTarget {
  std::int64_t generation = -1;  ///< of the object that it follows from
  Revision revision;
  /// revision_spec_text; empty once that is known to be the last good one, which status holds.
  std::string spec_text;
  std::size_t spec_digest = 0;  ///< of that text
};

struct ClusterObservation {
  Observed observed;
  Json last_status = Json::object();  ///< the owner's status as it was last written
  RolloutView rollout;
  /// Why no pod may be touched: InvalidSpec; empty when the spec can be served.
  std::string hold_reason;
  std::string hold_message;
  std::vector<ForeignPod> foreign;
  std::vector<ImagePull> pulls = {};
  CapacityNeed capacity;
  /// Pods that were told the same and whose engines tokenise differently, for people; empty: none.
  std::string tokenizer_skew = {};
  bool any_ready = false;  ///< some pod's engine has its weights
  /// What nodeds of pods that are not ready say of the weights they bring.
  std::vector<PodWeightsView> weights;
  /// Ready pods that still keep node autoscalers away.
  std::vector<std::string> to_release;
  /// ScalingActive, as whoever scales says it; nullopt: nobody looked.
  std::optional<Condition> scaling = {};
  /// Pods whose noded must be asked before the plan can go on: running pods that were told a
  /// revision after their birth and are not known to run it.
  std::vector<std::string> to_ask;
  /// Pods that are known to run what they were told only because their noded was asked
  /// (render_pod_confirm): once that is noted on them, a restart of the operator asks nobody.
  std::vector<VerifiedPod> to_confirm;
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
///
/// `known`: what was found of this object before, of an object with this uid; kept up to date.
ClusterObservation observe_cluster(const ClusterServing& owner, const ClusterSettings& settings,
                                   const std::vector<const PodObject*>& pods,
                                   const FactsByPod& facts, Moment at,
                                   KnownTarget* known = nullptr);

}  // namespace kantha::serving
