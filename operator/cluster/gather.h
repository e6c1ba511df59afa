#pragma once

#include <memory>
#include <vector>

#include "base/net/task.h"
#include "operator/cluster/pass.h"
#include "operator/serving/observe_cluster.h"

/// Stores → what the planner sees. One executor.
namespace kantha::cluster {

/// Every pod that claims to belong to the object, by its owner reference or its label, and is to
/// serve.
std::vector<std::shared_ptr<const StoredPod>> pods_of(const Scope& scope,
                                                      const serving::ClusterServing& object);

/// Observes from the stores alone, and then asks the nodeds on which the plan depends: running pods
/// that were told another revision and are not known to run it. Those that do not run it yet are
/// sent their configuration again every ten seconds (a push may have been lost with its operator).
/// When some of the pods are to go, all that serve are asked what they hold.
net::Task<serving::ClusterObservation> gather(Pass& pass);

/// Pods of the object that pull images; they are none of the above.
std::vector<std::shared_ptr<const StoredPod>> pulls_of(const Scope& scope,
                                                       const serving::ClusterServing& object);

/// How a pod's noded is reached.
PodAddress address_of(const serving::ClusterServing& owner, const serving::PodObject& pod);

}  // namespace kantha::cluster
