#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "operator/serving/judge.h"
#include "operator/serving/plan.h"
#include "operator/serving/rollout_state.h"

/// Where a rollout goes next: (state, spec, pods, verdict, now) → (state, split of the pods).
///
/// Pure and level-based, as plan() is; docs/rollouts.md has the table of states and transitions.
/// Any thread. Guarantees:
///   - no more pods may run the target than its ring has;
///   - no pod is moved from the last good revision before its node has the target's image, or the
///     ring has waited its time for that; the way back waits for no image;
///   - a revision that failed gets no pod any more until the spec changes;
///   - the way back always leads to the last revision that was good everywhere;
///   - a rollout that stands still says why in a condition.
namespace kantha::serving {

/// One revision, pods and all: short name and the digest of its pods.
std::string rollout_key(const Revision& revision);

struct RolloutInput {
  const Observed& observed;  ///< its split is not read
  /// The revision of state.good_spec as it would be made today; nullopt: none, or not usable.
  std::optional<Revision> last_good;
  /// revision_spec_text of the target, to be remembered once it is good.
  std::string target_spec;
  Verdict verdict;  ///< of the ring at work, when it bakes
  /// The target's engine image by digest, as some pod showed it; empty: not known, or no tag.
  std::string image = {};
};

/// A transition, for people.
struct RolloutEvent {
  bool is_warning = false;
  std::string reason;  ///< CamelCase
  std::string message;
  bool operator==(const RolloutEvent&) const = default;
};

struct RolloutStep {
  RolloutState state;
  std::optional<RevisionSplit> split;  ///< for Observed::split
  std::vector<RolloutEvent> events;
  std::vector<std::string> pull_on;   ///< nodes that are to get the target's engine image now
  std::set<std::string> keep_pulled;  ///< nodes of which it is to be remembered that they have it
};

RolloutStep plan_rollout(const RolloutState& before, const RolloutInput& input, WallTime now);

/// A rollout is on its way to its target: time alone may change what is to be done.
bool is_under_way(const RolloutState& state);

/// Pods that run another revision than the target are on their way to it, or back from it.
bool moves_pods(const RolloutState& state);

/// A rollout's ring is to be judged now: its evidence has to be gathered.
bool is_judged(const RolloutState& state);

/// Condition RolloutGated: True whenever something other than the pods' own pace holds the target.
Condition gate_condition(const RolloutState& state, const ModelServing& serving);

/// Progressing as a rollout has it; the plan's own where the rollout adds nothing.
Condition progress_condition(const RolloutState& state, Condition planned);

}  // namespace kantha::serving
