#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "operator/serving/engine_config_json.h"
#include "operator/serving/types.h"

/// What to do next for one ModelServing: (Observed, now) → Plan.
///
/// Pure and level-based: no client, no store, no clock, no memory. A crash between a plan and its
/// deeds is harmless, because the next pass looks at what is there. Both worlds use it: pods here
/// are Kubernetes pods in the cluster and `kantha-noded` process groups in the local world.
/// Any thread.
namespace kantha::serving {

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
};

/// All that a plan depends on.
struct Observed {
  ModelServing serving;
  Revision target;  ///< revision_of(serving, …)
  std::vector<ObservedPod> pods;
  /// Ordinals whose pod name somebody else holds: nothing is made there.
  std::vector<std::int64_t> blocked = {};
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
  bool settled = false;  ///< everything wanted is there and nothing else is
};

/// "smollm2-0"
std::string pod_name(const ModelServing& serving, std::int64_t ordinal);

/// Takes new requests now.
bool is_available(const ObservedPod& pod);

/// Makes the plan. Guarantees, for the pods as observed:
///   - no action takes ready pods down so far that fewer than replicas - maxUnavailable are
///     available (a pod counts from the moment it is told, not from the moment it obeys);
///   - a surplus pod that is available goes only while replicas available pods remain;
///   - a pod that is not available is changed at once: it serves nobody, and waiting for it could
///     block the fix for ever;
///   - a pod that ended for good is deleted, and made anew by a later pass;
///   - the next ready pod moves to a new revision only when the ones before it are verified ready.
Plan plan(const Observed& observed, TimePoint now);

}  // namespace kantha::serving
