#pragma once

#include "base/net/task.h"
#include "operator/cluster/pass.h"
#include "operator/serving/observe_cluster.h"
#include "operator/serving/plan.h"

/// Who decides on an object's count of pods, and, where that is the operator, the decision.
///
/// spec.autoscaling has one of two readers: an HPA that the operator makes (it asks our metrics
/// API), or the same law in the operator. Either writes the count through the scale subresource
/// alone. An HPA of somebody else on the object is a condition and never fought: both then leave
/// the count to it. One executor.
namespace kantha::cluster {

/// Carries that out for an object that is served. Sets the condition ScalingActive in `seen`, and
/// adds decisions to `plan`; looks again in a few seconds while the law runs.
net::Task<void> scale(Pass& pass, serving::ClusterObservation& seen, serving::Plan& plan);

/// An HPA of somebody else on the object, as "keda-hpa-x of ScaledObject/x"; empty: there is none.
std::string foreign_autoscaler(const Pass& pass);

/// Deletes the HPA of ours where none is wanted any more.
net::Task<void> remove_own_hpa(Pass& pass);

/// Writes the count as whoever scales does; the object must still be the one that was looked at.
net::Task<bool> write_count(Pass& pass, std::int64_t count);

/// Whether the operator's own HPA is wanted for the object.
bool wants_hpa(const Pass& pass);

}  // namespace kantha::cluster
