#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/net/task.h"
#include "operator/cluster/pass.h"
#include "operator/serving/plan.h"

/// Leave to take pods away (delete, restart), so that two operators who both believe that they lead
/// never take more than one of them may. One executor.
///
/// A Lease does not fence: a process that was stopped between its check and its write, or an answer
/// that takes long, lets two passes act that were planned from the same picture, each on another
/// pod and each within the budget. So a pass first claims, in status.taking of the ModelServing and
/// on the condition that it is still as read, the pods that it is about to take, with the versions
/// for which that was decided: "m-1@4711". What a claim leads to can land only on just that version
/// of the pod. A pass that reads a claim on a pod that still has that version must count with it:
///   - it plans to take that pod, too → it may (one of the two deeds lands);
///   - else it looks again, and after a while makes the claim void by changing the pod's version.
/// See docs/decisions for the argument. The claim costs one write for each pass that takes ready
/// pods of an object that has something to keep: replicas - maxUnavailable > 0.
namespace kantha::cluster {

/// Who owns status.taking; no other write of ours touches it.
inline constexpr const char* kClaimFieldManager = "kantha-operator-claim";
/// On a pod: the version whose claim was made void. It says nothing, it only makes a new version.
inline constexpr const char* kAnnotationSpared = "serving.kantha.dev/spared";
/// Pods that one claim may name; the rest of a plan waits for the next pass.
inline constexpr std::size_t kClaimedMax = 64;

/// The pods among those of `actions` that may be taken away now.
///
/// Reads the ModelServing and its pods from the API server itself; when they are not as the plan
/// saw them, none may. Pods that are not ready serve nobody and need no claim.
net::Task<std::set<std::string>> may_take(Pass& pass, const serving::ClusterObservation& seen,
                                          const std::vector<serving::Action>& actions);

}  // namespace kantha::cluster
