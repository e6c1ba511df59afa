#include "tests/fake/api_server/kind.h"

#include <map>
#include <set>

namespace kantha::fake {
namespace {

using Keys = std::vector<std::string>;

/// Lists of type map of the built-in kinds (by path without elements) and their keys.
const std::map<std::string, Keys>& map_lists() {
  static const std::map<std::string, Keys> lists = {
      {"metadata.ownerReferences", {"uid"}},
      {"spec.containers", {"name"}},
      {"spec.initContainers", {"name"}},
      {"spec.containers.ports", {"containerPort", "protocol"}},
      {"spec.containers.env", {"name"}},
      {"spec.containers.volumeMounts", {"mountPath"}},
      {"spec.initContainers.env", {"name"}},
      {"spec.initContainers.volumeMounts", {"mountPath"}},
      {"spec.volumes", {"name"}},
      {"spec.imagePullSecrets", {"name"}},
      {"spec.topologySpreadConstraints", {"topologyKey", "whenUnsatisfiable"}},
      {"spec.ports", {"port", "protocol"}},
      {"status.conditions", {"type"}},
      {"secrets", {"name"}},
  };
  return lists;
}

bool is_built_in_atomic_map(const std::string& dotted) {
  static const std::set<std::string> maps = {
      "spec.selector", "spec.nodeSelector", "spec.containers.env.valueFrom.fieldRef",
      "spec.containers.env.valueFrom.secretKeyRef", "metadata.ownerReferences"};
  return maps.contains(dotted);
}

Kind core(std::string plural, std::string kind) {
  return {.version = "v1", .plural = std::move(plural), .kind = std::move(kind)};
}

const Json* schema_child(const Json* schema, const char* name) {
  if (schema == nullptr || !schema->is_object()) return nullptr;
  const auto found = schema->find(name);
  return found == schema->end() || !found->is_object() ? nullptr : &*found;
}

}  // namespace

std::vector<Kind> built_in_kinds() {
  std::vector<Kind> kinds;
  Kind pods = core("pods", "Pod");
  pods.has_status = pods.has_generation = pods.returns_deleted = true;
  Kind services = core("services", "Service");
  services.has_status = services.returns_deleted = true;
  Kind accounts = core("serviceaccounts", "ServiceAccount");
  accounts.returns_deleted = true;
  Kind namespaces = core("namespaces", "Namespace");
  namespaces.is_namespaced = false;
  namespaces.has_status = namespaces.returns_deleted = true;
  Kind nodes = core("nodes", "Node");
  nodes.is_namespaced = false;
  nodes.has_status = true;
  Kind budgets = {.group = "policy",
                  .version = "v1",
                  .plural = "poddisruptionbudgets",
                  .kind = "PodDisruptionBudget"};
  budgets.has_status = budgets.has_generation = budgets.needs_version = true;
  Kind autoscalers = {.group = "autoscaling",
                      .version = "v2",
                      .plural = "horizontalpodautoscalers",
                      .kind = "HorizontalPodAutoscaler"};
  autoscalers.has_status = true;
  Kind slices = {.group = "discovery.k8s.io",
                 .version = "v1",
                 .plural = "endpointslices",
                 .kind = "EndpointSlice"};
  Kind leases = {
      .group = "coordination.k8s.io", .version = "v1", .plural = "leases", .kind = "Lease"};
  Kind definitions = {.group = "apiextensions.k8s.io",
                      .version = "v1",
                      .plural = "customresourcedefinitions",
                      .kind = "CustomResourceDefinition"};
  definitions.is_namespaced = false;
  definitions.has_status = definitions.has_generation = true;
  return {pods,
          services,
          core("secrets", "Secret"),
          core("configmaps", "ConfigMap"),
          core("persistentvolumeclaims", "PersistentVolumeClaim"),
          accounts,
          core("events", "Event"),
          namespaces,
          nodes,
          budgets,
          autoscalers,
          leases,
          slices,
          definitions};
}

Kind kind_of_definition(const Json& definition) {
  const Json& spec = definition.at("spec");
  Kind kind;
  kind.group = spec.at("group");
  kind.names = spec.at("names");
  kind.plural = kind.names.at("plural");
  kind.kind = kind.names.at("kind");
  kind.is_namespaced = spec.at("scope") == "Namespaced";
  kind.is_custom = kind.has_generation = kind.needs_version = true;
  for (const Json& version : spec.at("versions")) {
    if (!version.value("storage", false)) continue;
    kind.version = version.at("name");
    kind.schema = version.at("schema").at("openAPIV3Schema");
    const Json subresources = version.value("subresources", Json::object());
    kind.has_status = subresources.contains("status");
    kind.has_scale = subresources.contains("scale");
  }
  return kind;
}

Shape::Shape(const Kind& kind)
    : kind_(&kind), schema_(kind.schema.is_object() ? &kind.schema : nullptr) {}

Shape Shape::field(const std::string& name) const {
  Shape shape = *this;
  shape.dotted_ = dotted_.empty() ? name : dotted_ + "." + name;
  if (schema_ == nullptr) return shape;
  shape.schema_ = schema_child(schema_child(schema_, "properties"), name.c_str());
  if (shape.schema_ == nullptr) shape.schema_ = schema_child(schema_, "additionalProperties");
  if (dotted_.empty() && name == "metadata") shape.schema_ = nullptr;
  return shape;
}

Shape Shape::element() const {
  Shape shape = *this;
  shape.schema_ = schema_child(schema_, "items");
  return shape;
}

bool Shape::is_atomic_map() const {
  if (schema_ != nullptr) return schema_->value("x-kubernetes-map-type", "") == "atomic";
  return is_built_in_atomic_map(dotted_) && (!kind_->is_custom || dotted_.starts_with("metadata"));
}

ListType Shape::list_type() const {
  if (schema_ != nullptr) {
    const std::string type = schema_->value("x-kubernetes-list-type", "atomic");
    return type == "map" ? ListType::kMap : type == "set" ? ListType::kSet : ListType::kAtomic;
  }
  if (dotted_ == "metadata.finalizers") return ListType::kSet;
  const bool is_known = !kind_->is_custom || dotted_.starts_with("metadata");
  return is_known && map_lists().contains(dotted_) ? ListType::kMap : ListType::kAtomic;
}

std::vector<std::string> Shape::list_keys() const {
  if (schema_ != nullptr) return schema_->value("x-kubernetes-list-map-keys", Keys{});
  const auto found = map_lists().find(dotted_);
  return found == map_lists().end() ? Keys{} : found->second;
}

std::string Shape::element_name(const Json& element) const {
  if (list_type() == ListType::kSet) return "v:" + dump_json(element);
  Json key = Json::object();
  for (const std::string& name : list_keys()) {
    if (element.is_object() && element.contains(name)) {
      key[name] = element[name];
      continue;
    }
    const Json* items = schema_child(schema_, "items");
    const Json* field = schema_child(schema_child(items, "properties"), name.c_str());
    if (field != nullptr && field->contains("default")) key[name] = (*field)["default"];
    if (schema_ == nullptr && name == "protocol") key[name] = "TCP";
  }
  return "k:" + dump_json(key);
}

}  // namespace kantha::fake
