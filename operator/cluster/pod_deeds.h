#pragma once

#include "base/net/task.h"
#include "operator/cluster/pass.h"
#include "operator/serving/plan.h"

/// The planner's deeds on pods. One executor.
///
///   create   POST; the name is taken by ours → done; by somebody else → trouble NameConflict
///   drain, delete   DELETE of the pod that was decided on (uid, resourceVersion of a fresh read);
///            noded drains on SIGTERM, within the pod's own grace
///   restart  one PATCH (config, revision, image), then the config is pushed to noded
///
/// What takes capacity away needs leave first (capacity_claim.h): the ModelServing and its pods are
/// as they were planned for, and no other operator can act on the same picture.
/// Deletes that the user asked for there (fewer replicas, deletion) are counted by the breaker, all
/// others need its leave.
namespace kantha::cluster {

net::Task<void> do_pod_deeds(Pass& pass, const serving::ClusterObservation& seen,
                             const std::vector<serving::Action>& actions);

/// Gives pods that lost our labels or owner reference theirs back.
net::Task<void> adopt_pods(Pass& pass, const serving::ClusterObservation& seen);

/// Notes on a pod that its engine was seen to run what it was told, for this operator's successors.
net::Task<void> confirm_pods(Pass& pass, const serving::ClusterObservation& seen);

/// Lets node autoscalers move pods that have become ready.
net::Task<void> release_pods(Pass& pass, const serving::ClusterObservation& seen);

}  // namespace kantha::cluster
