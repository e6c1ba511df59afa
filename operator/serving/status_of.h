#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "operator/serving/observe_cluster.h"
#include "operator/serving/plan.h"

/// The status of an object, as it is written to the API server. Pure; any thread.
namespace kantha::serving {

/// Something that went wrong while the plan was carried out and that a person has to know.
struct Trouble {
  std::string reason;   ///< CamelCase: "Forbidden", "FieldConflict", "NamespaceTerminating"
  std::string message;  ///< "may not create pods in namespace a: …"
  bool operator==(const Trouble&) const = default;
};

/// The whole of status: counts, selector, revisions and the conditions Available, Progressing,
/// Degraded, CapacityBlocked, WeightsReady, ScalingActive, RolloutGated. Every condition is always
/// there; lastTransitionTime moves only when its status changes; messages are at most 1 KiB and
/// contain no time and no figure that changes by itself. Trouble makes Degraded True.
Json status_of(const ClusterServing& owner, const ClusterObservation& seen, const Plan& plan,
               const std::vector<Trouble>& troubles, WallTime now);

/// Whether `status` differs from what was written last, in a field that we own.
bool status_changed(const Json& last, const Json& status);

/// The document for server-side apply on the status subresource.
Json status_document(const ClusterServing& owner, Json status);

}  // namespace kantha::serving
