#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "operator/serving/cluster_object.h"

/// The EndpointSlice that leads an object's client Service to the activator, beside the slices that
/// Kubernetes makes of the Service's selector. Pure; any thread.
namespace kantha::serving {

/// Where the activator takes the object's requests.
struct ActivatorRoute {
  std::vector<std::string> addresses;  ///< of its pods, sorted; empty: there is none
  std::int64_t port = 0;               ///< the object's own
  bool operator==(const ActivatorRoute&) const = default;
};

/// For server-side apply. Addresses of another family than the first are left out: a slice has one.
OrderedJson render_activator_slice(const ClusterServing& owner, const ActivatorRoute& route);

}  // namespace kantha::serving
