#pragma once

#include "base/json.h"
#include "operator/serving/cluster_object.h"

/// The HorizontalPodAutoscaler of an object with spec.autoscaling, for server-side apply. Pure; any
/// thread.
namespace kantha::serving {

/// Scales the ModelServing's scale subresource on the Pods metric kv_pressure, by its average, as
/// spec.autoscaling says; behavior is passed through.
OrderedJson render_hpa(const ClusterServing& owner);

}  // namespace kantha::serving
