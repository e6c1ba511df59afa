#pragma once

#include "base/json.h"
#include "operator/serving/cluster_object.h"

/// The ServiceAccount of an object's pods, for server-side apply. Pure; any thread.
namespace kantha::serving {

/// An identity without rights and without a mounted token.
OrderedJson render_service_account(const ClusterServing& owner);

}  // namespace kantha::serving
