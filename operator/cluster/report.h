#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/net/task.h"
#include "operator/cluster/pass.h"
#include "operator/serving/plan_cluster.h"

/// Outcome → status and events, written when they are new. One executor.
namespace kantha::cluster {

/// Applies the status when it differs from what was written last. What people and machines act on
/// (Available, an event's worth of news, a deletion, trouble) is written at once; counts that move
/// within two seconds are one write. A conflict is tried five times: each apply is whole and
/// carries the resourceVersion of an object of this uid, so there is nothing to merge. Events tell
/// what became different between the two; they never hold anything up.
net::Task<void> report(Pass& pass, const serving::ClusterObservation& seen,
                       const serving::ClusterPlan& plan);

/// One event about an object.
struct Transition {
  bool is_warning = false;
  std::string reason;
  std::string message;
  bool operator==(const Transition&) const = default;
};

/// What people want to hear of when status went from one to the next: Available and
/// CapacityBlocked flipped, Degraded with another reason, a revision runs everywhere. Pure.
std::vector<Transition> transitions_between(const Json& before, const Json& after);

}  // namespace kantha::cluster
