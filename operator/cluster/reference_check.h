#pragma once

#include "base/net/task.h"
#include "operator/cluster/pass.h"
#include "operator/serving/observe_cluster.h"
#include "operator/serving/plan.h"

/// Whether what a ModelServing names is there: Secrets, a claim, a ConfigMap. One executor.
///
/// The kubelet tells of a missing one in Events only, which nobody here reads, and a scheduler of a
/// missing claim when the old pod is gone. So each is read by its name (Secrets are never listed)
/// as soon as it is seen, and what is missing becomes a trouble that names the field. Looked for
/// again after 2 s, then twice as long up to a minute; what was found, once a minute while pods are
/// not ready. An object whose pods are ready costs no call.
namespace kantha::cluster {

inline constexpr kube::Resource kPersistentVolumeClaims{"", "v1", "persistentvolumeclaims",
                                                        "PersistentVolumeClaim"};

/// True: nothing is missing that a new pod needs.
net::Task<bool> check_references(Pass& pass, const serving::ClusterObservation& seen);

/// The actions without those that take away a pod that serves, to replace it. Pure.
std::vector<serving::Action> without_replacements(const serving::ClusterObservation& seen,
                                                  const std::vector<serving::Action>& actions);

}  // namespace kantha::cluster
