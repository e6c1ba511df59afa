#include "operator/serving/render_service.h"

#include "operator/serving/children.h"

namespace kantha::serving {
namespace {

OrderedJson port(const char* name, int number, const char* target) {
  return {{"name", name}, {"port", number}, {"protocol", "TCP"}, {"targetPort", target}};
}

OrderedJson service(const ClusterServing& owner, const std::string& name) {
  OrderedJson out;
  out["apiVersion"] = "v1";
  out["kind"] = "Service";
  out["metadata"] = child_metadata(owner, name);
  return out;
}

}  // namespace

OrderedJson render_service(const ClusterServing& owner) {
  const std::string& name = owner.serving.metadata.name;
  OrderedJson out = service(owner, service_name(name));
  OrderedJson& spec = out["spec"];
  spec["type"] = "ClusterIP";
  spec["publishNotReadyAddresses"] = false;
  spec["selector"] = pod_selector(name);
  spec["ports"] = OrderedJson::array({port("http", 80, "api")});
  return out;
}

OrderedJson render_headless_service(const ClusterServing& owner) {
  const std::string& name = owner.serving.metadata.name;
  OrderedJson out = service(owner, headless_service_name(name));
  OrderedJson& spec = out["spec"];
  spec["type"] = "ClusterIP";
  spec["clusterIP"] = "None";
  spec["publishNotReadyAddresses"] = true;
  spec["selector"] = pod_selector(name);
  spec["ports"] =
      OrderedJson::array({port("api", kApiPort, "api"), port("admin", kAdminPort, "admin")});
  return out;
}

}  // namespace kantha::serving
