#pragma once

#include "base/json.h"
#include "operator/serving/cluster_object.h"

/// The two Services of an object, for server-side apply. Pure; any thread.
namespace kantha::serving {

/// For clients: port 80 to the pods that are ready.
OrderedJson render_service(const ClusterServing& owner);

/// Headless, for names and addresses of single pods, ready or not.
OrderedJson render_headless_service(const ClusterServing& owner);

}  // namespace kantha::serving
