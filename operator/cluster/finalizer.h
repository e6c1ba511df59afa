#pragma once

#include "base/net/task.h"
#include "operator/cluster/pass.h"
#include "operator/serving/plan_cluster.h"

/// The finalizer serving.kantha.dev/drain: an object that is deleted stays until its pods have
/// drained. One executor.
///
/// It is there before the first child. On deletion the pods are deleted, each with its own grace;
/// when none is left (asked of the API server itself) the finalizer goes, and Kubernetes' garbage
/// collector takes the other children by their owner references.
/// Escape: a pod that is a minute past its grace has lost its node; it holds nothing back any more
/// (plan_cluster), and goes when its node comes back or a person forces it. A namespace that is
/// being deleted changes nothing here: nothing is created on this path.
namespace kantha::cluster {

/// True: the finalizer is there (it was, or was just added).
net::Task<bool> ensure_finalizer(Pass& pass);

/// One pass over an object that is being deleted. True: the object needs us no more.
net::Task<bool> finalize(Pass& pass, const serving::ClusterObservation& seen,
                         const serving::ClusterPlan& plan);

}  // namespace kantha::cluster
