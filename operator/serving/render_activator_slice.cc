#include "operator/serving/render_activator_slice.h"

#include "operator/serving/children.h"

namespace kantha::serving {
namespace {

bool is_ipv6(const std::string& address) { return address.find(':') != std::string::npos; }

}  // namespace

OrderedJson render_activator_slice(const ClusterServing& owner, const ActivatorRoute& route) {
  const std::string& name = owner.serving.metadata.name;
  OrderedJson out;
  out["apiVersion"] = "discovery.k8s.io/v1";
  out["kind"] = "EndpointSlice";
  out["metadata"] = child_metadata(owner, activator_slice_name(name));
  OrderedJson& labels = out["metadata"]["labels"];
  labels["kubernetes.io/service-name"] = service_name(name);
  // Others' slices are left alone by the controller that makes those of the selector.
  labels["endpointslice.kubernetes.io/managed-by"] = kManagedBy;
  const bool six = !route.addresses.empty() && is_ipv6(route.addresses.front());
  out["addressType"] = six ? "IPv6" : "IPv4";
  out["endpoints"] = OrderedJson::array();
  for (const std::string& address : route.addresses) {
    if (is_ipv6(address) != six) continue;
    OrderedJson endpoint;
    endpoint["addresses"] = OrderedJson::array({address});
    endpoint["conditions"]["ready"] = true;
    out["endpoints"].push_back(std::move(endpoint));
  }
  // By the name of the Service's port; the number is that of the activator.
  OrderedJson port;
  port["name"] = "http";
  port["port"] = route.port;
  port["protocol"] = "TCP";
  out["ports"] = OrderedJson::array({std::move(port)});
  return out;
}

}  // namespace kantha::serving
