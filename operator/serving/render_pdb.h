#pragma once

#include "base/json.h"
#include "operator/serving/cluster_object.h"

/// The PodDisruptionBudget of an object, for server-side apply. Pure; any thread.
namespace kantha::serving {

/// Lets node drains take as many pods as a rollout may, at least one, so that it never blocks for
/// ever; pods that are not ready may always go.
OrderedJson render_pdb(const ClusterServing& owner);

}  // namespace kantha::serving
