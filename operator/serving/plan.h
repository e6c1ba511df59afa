#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "operator/serving/decision.h"
#include "operator/serving/engine_config_json.h"
#include "operator/serving/rollout_state.h"
#include "operator/serving/types.h"

/// What to do next for one ModelServing: (Observed, now) → Plan.
///
/// Pure and level-based: no client, no store, no clock, no memory. A crash between a plan and its
/// deeds is harmless, because the next pass looks at what is there. Both worlds use it: pods here
/// are Kubernetes pods in the cluster and `kantha-noded` process groups in the local world.
/// Any thread.
namespace kantha::serving {

/// What is asked of a pod's KV cache, and what there is, in blocks.
struct KvDemand {
  double wanted = 0;
  double blocks = 0;
};

/// One pod as it was last seen.
struct ObservedPod {
  std::string name;
  std::int64_t ordinal = 0;
  /// Revision::pod with which it was made.
  std::string pod_revision;
  /// Revision::whole that its engine reports; empty while that is not known.
  std::string revision;
  /// Revision::whole that it was last told to run.
  std::string told_revision;
  /// Answers, its engine is ready, and its facts are fresh.
  bool ready = false;
  /// Was told to take no new requests; there is no way back.
  bool draining = false;
  /// When a drain that has not ended is given up; nullopt when not draining.
  std::optional<TimePoint> drain_deadline = {};
  /// Requests in flight; nullopt when not known.
  std::optional<std::int64_t> streams = {};
  /// Share of its KV cache that holds something, 0 to 1; nullopt when not known.
  std::optional<double> warm = {};
  /// nullopt when not known.
  std::optional<KvDemand> kv = {};
  std::string node = {};     ///< empty: it has none, as in the local world
  bool node_leaves = false;  ///< that node is about to be taken away
  /// Was told to end; it is on its way out, its name is still taken.
  bool terminating = false;
  /// It ended or restarts again and again.
  bool failing = false;
  /// It ended for good and nothing starts in it again: it is replaced, from this time on (a pod
  /// that ended soon after it was made has to wait, so that its successor does not end as fast).
  std::optional<TimePoint> replace_at = {};
  /// Its end takes longer than it may; only with terminating.
  bool stuck = false;
  /// Why it is not ready, for people.
  std::string message = {};
  /// Its engine ended so often that waiting will not help.
  bool crash_looping = false;
  /// It has no node yet: whatever takes long is not its build's doing.
  bool waits_for_node = false;
  /// Its node is not known to have the target's engine image.
  bool lacks_image = false;
  std::string pull_failure = {};  ///< why its node cannot get it; empty: nobody knows that it can't
  /// How its engine's output differs from what it must be; empty: it does not, or nobody looked.
  std::string wrong_output = {};
};

/// How the pods are divided while two revisions are in use (plan_rollout.h).
struct RevisionSplit {
  Revision last_good;          ///< what the other pods run
  std::int64_t on_target = 0;  ///< pods that may run the target
  bool hold_surplus = false;   ///< scale-in waits
  /// Ordinals that may run the target, and are told it later: their nodes do not have its image
  /// yet. A pod that is made there starts with it all the same.
  std::set<std::int64_t> not_yet = {};
  bool operator==(const RevisionSplit&) const = default;
};

/// All that a plan depends on.
struct Observed {
  ModelServing serving;
  Revision target;  ///< revision_of(serving, …)
  std::vector<ObservedPod> pods;
  /// Ordinals whose pod name somebody else holds: nothing is made there.
  std::vector<std::int64_t> blocked = {};
  /// nullopt: every pod is to run the target.
  std::optional<RevisionSplit> split = {};
};

enum class ActionKind : std::uint8_t {
  kCreatePod,
  kDrainPod,       ///< takes no new requests from now on
  kDeletePod,      ///< it is drained, or its drain deadline has passed, or it never was ready
  kRestartEngine,  ///< same pod, new engine configuration
};

std::string_view action_name(ActionKind kind);

/// One deed, and why.
struct Action {
  ActionKind kind = ActionKind::kCreatePod;
  std::string pod;
  std::int64_t ordinal = 0;
  std::string reason;  ///< for people: "replicas went from 3 to 1"
  /// Of kCreatePod and kRestartEngine: RevisionSplit::last_good is meant and not the target.
  bool to_last_good = false;
  /// Of kDrainPod and kDeletePod: nothing comes in the pod's place.
  bool is_surplus = false;
  bool operator==(const Action&) const = default;
};

enum class ConditionStatus : std::uint8_t { kFalse, kTrue, kUnknown };

/// "True", "False", "Unknown".
std::string_view condition_status_name(ConditionStatus status);

/// One condition of status, by the API conventions.
struct Condition {
  std::string type;
  ConditionStatus status = ConditionStatus::kUnknown;
  std::string reason;
  std::string message;
  std::int64_t observed_generation = 0;
  bool operator==(const Condition&) const = default;
};

/// The counts of status.
struct ReplicaCounts {
  std::int64_t wanted = 0;
  std::int64_t existing = 0;   ///< pods that neither terminate nor have ended
  std::int64_t ready = 0;      ///< engine ready, draining or not
  std::int64_t available = 0;  ///< ready and takes new requests
  std::int64_t updated = 0;    ///< available and verified to run the target revision
  bool operator==(const ReplicaCounts&) const = default;
};

struct Plan {
  std::vector<Action> actions;
  std::vector<Condition> conditions;  ///< Available, Progressing, Degraded, in this order
  ReplicaCounts counts;
  /// Made with this plan; status keeps the last few (decision.h).
  std::vector<Decision> decisions = {};
  bool settled = false;  ///< everything wanted is there and nothing else is
  /// Where the rollout stands after this pass, for status.rollout; nullopt: as it was.
  std::optional<RolloutState> rollout = {};
};

/// "smollm2-0"
std::string pod_name(const ModelServing& serving, std::int64_t ordinal);

/// Takes new requests now.
bool is_available(const ObservedPod& pod);

/// Makes the plan. Guarantees, for the pods as observed:
///   - no action takes ready pods down so far that fewer than replicas - maxUnavailable are
///     available (a pod counts from the moment it is told, not from the moment it obeys);
///   - a surplus pod that is available goes only while replicas available pods remain, and while
///     an autoscaler decides on the count only if the others bear its load (plan_victims.h);
///   - a pod that is ready while nobody knows yet what it runs may serve: it goes only while
///     replicas - maxUnavailable others are ready that were not told to change;
///   - a pod that is not ready is changed at once: it serves nobody, and waiting for it could block
///     the fix for ever; but for pods whose nodes get their image first (RevisionSplit::not_yet);
///   - a pod that ended for good is deleted, and made anew by a later pass;
///   - with a split, no more than `on_target` pods are told the target;
///   - the next ready pod moves to a new revision only when the ones before it are verified ready.
Plan plan(const Observed& observed, TimePoint now);

}  // namespace kantha::serving
