#pragma once

#include "base/net/task.h"
#include "operator/cluster/pass.h"
#include "operator/serving/observe_cluster.h"
#include "operator/serving/plan.h"

/// To zero and from zero, where spec.autoscaling.minReplicas is 0 (operator/serving/plan_zero.h).
/// After scale(), which decides on every other count. One executor.
///
/// Before the last pods go, each is asked once more, so that a request of the last second is seen;
/// one that comes later than that is finished by the pod's drain, or waits at the activator.
namespace kantha::cluster {

/// Carries that out for an object that is served. Changes ScalingActive in `seen`, and adds
/// decisions to `plan`.
net::Task<void> scale_zero(Pass& pass, serving::ClusterObservation& seen, serving::Plan& plan);

}  // namespace kantha::cluster
