#pragma once

#include "base/net/task.h"
#include "operator/cluster/pass.h"
#include "operator/serving/plan_cluster.h"

/// Plan → what is in the cluster. One executor.
///
/// Everything that a pod needs to start comes before the pod, so that a crash between two writes
/// leaves nothing that can't be gone on with; Services come after it, for they are slow to make and
/// first needed when it is ready. Each step goes on when the one before it failed for a reason
/// of its own (a verb that is forbidden, a name that is taken), so that the rest works.
namespace kantha::cluster {

/// Carries out one plan for an object that is served (not being deleted).
net::Task<void> apply(Pass& pass, const serving::ClusterObservation& seen,
                      const serving::ClusterPlan& plan);

/// Deletes recorded revisions beyond the last five that no pod was told and no status names.
net::Task<void> prune_revisions(Pass& pass, const serving::ClusterObservation& seen);

}  // namespace kantha::cluster
