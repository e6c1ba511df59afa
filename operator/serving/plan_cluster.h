#pragma once

#include <set>
#include <string>
#include <vector>

#include "operator/serving/observe_cluster.h"
#include "operator/serving/plan.h"
#include "operator/serving/plan_rollout.h"

/// The plan for an object of a cluster: plan(), and what a cluster adds to it. Pure; any thread.
namespace kantha::serving {

struct ClusterPlan {
  Plan plan;
  /// The object is being deleted and nothing of it needs us any more: its finalizer may go.
  bool release_finalizer = false;
  std::vector<RolloutEvent> events = {};
  std::vector<std::string> pull_on = {};   ///< RolloutStep::pull_on
  std::set<std::string> keep_pulled = {};  ///< RolloutStep::keep_pulled
  /// A revision has just failed: that has to be written before any deed follows from it, so that
  /// a crash in between does not try the revision again.
  bool write_first = false;
};

/// In this order:
///   - an object that is being deleted: its pods are drained; the finalizer goes once each pod is
///     gone, or was told to end and is a minute past its grace (its node is dead: the garbage
///     collector has the rest, and no object stays for ever because of a machine);
///   - a spec that cannot be served (hold_reason): no pod is made, changed or deleted; the counts
///     speak of the last good spec; Progressing is False with the reason;
///   - else plan_rollout(), with the verdict on the ring at work, and plan().
ClusterPlan plan_cluster(const ClusterServing& owner, const ClusterObservation& seen, Moment at,
                         const Verdict& verdict = {});

}  // namespace kantha::serving
