#include "tests/fake/api_server/object_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "tests/fake/api_server/custom_schema.h"

namespace kantha::fake {
namespace {

void fill(Json& object, const char* name, Json value) {
  if (!object.contains(name)) object[name] = std::move(value);
}

bool is_name_char(char c) {
  return std::islower(static_cast<unsigned char>(c)) || std::isdigit(static_cast<unsigned char>(c));
}

/// A lower-case RFC 1123 subdomain (or label, without dots).
bool is_dns_name(const std::string& name, std::size_t length_max, bool dots) {
  if (name.empty() || name.size() > length_max) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool edge = i == 0 || i + 1 == name.size() || name[i - 1] == '.' || name[i + 1] == '.';
    const bool inner = name[i] == '-' || (dots && name[i] == '.');
    if (!is_name_char(name[i]) && (edge || !inner)) return false;
  }
  return true;
}

std::optional<Refusal> check_name(const Kind& kind, const std::string& name) {
  const bool is_label = kind.plural == "services" || kind.plural == "namespaces";
  if (kind.plural == "services" && !name.empty() &&
      std::isdigit(static_cast<unsigned char>(name[0]))) {
    return invalid(kind, name,
                   {{"metadata.name", "FieldValueInvalid",
                     fmt::format("Invalid value: \"{}\": a DNS-1035 label must consist of lower "
                                 "case alphanumeric characters or '-', start with an alphabetic "
                                 "character, and end with an alphanumeric character (e.g. "
                                 "'my-name',  or 'abc-123', regex used for validation is "
                                 "'[a-z]([-a-z0-9]*[a-z0-9])?')",
                                 name)}});
  }
  if (is_dns_name(name, is_label ? 63 : 253, !is_label)) return std::nullopt;
  return invalid(
      kind, name,
      {{"metadata.name", "FieldValueInvalid",
        fmt::format("Invalid value: \"{}\": a lowercase RFC 1123 subdomain must consist of lower "
                    "case alphanumeric characters, '-' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'example.com', regex used for validation is "
                    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                    name)}});
}

void fill_container(Json& container) {
  fill(container, "resources", Json::object());
  fill(container, "terminationMessagePath", "/dev/termination-log");
  fill(container, "terminationMessagePolicy", "File");
  const std::string image = container.value("image", "");
  const bool latest = image.ends_with(":latest") || image.find_last_of(":@") == std::string::npos;
  fill(container, "imagePullPolicy", latest ? "Always" : "IfNotPresent");
  if (container.contains("ports")) {
    for (Json& port : container["ports"]) fill(port, "protocol", "TCP");
  }
}

std::optional<Refusal> prepare_pod(ObjectStore& store, const Table& table, Json& pod) {
  const std::string name = pod["metadata"]["name"];
  const std::string name_space = pod["metadata"]["namespace"];
  Json& spec = pod["spec"];
  if (!spec.is_object() || !spec.contains("containers") || spec["containers"].empty()) {
    return invalid(table.kind, name, {{"spec.containers", "FieldValueRequired", "Required value"}});
  }
  fill(spec, "serviceAccountName", "default");
  const std::string account = spec["serviceAccountName"];
  const Table* accounts = store.find_table("", "serviceaccounts");
  if (store.find(*accounts, name_space + "/" + account) == nullptr) {
    return forbidden(table.kind, name,
                     fmt::format("error looking up service account {0}/{1}: serviceaccount \"{1}\" "
                                 "not found",
                                 name_space, account));
  }
  fill(spec, "serviceAccount", account);
  fill(spec, "restartPolicy", "Always");
  fill(spec, "dnsPolicy", "ClusterFirst");
  fill(spec, "schedulerName", "default-scheduler");
  fill(spec, "terminationGracePeriodSeconds", 30);
  fill(spec, "securityContext", Json::object());
  fill(spec, "enableServiceLinks", true);
  fill(spec, "preemptionPolicy", "PreemptLowerPriority");
  fill(spec, "priority", 0);
  for (Json& container : spec["containers"]) fill_container(container);
  pod["status"] = {{"phase", "Pending"}, {"qosClass", "BestEffort"}};
  return std::nullopt;
}

std::optional<Refusal> check_owners(const Table& table, const Json& object) {
  const Json& metadata = object.at("metadata");
  std::string controller;
  for (const Json& owner : metadata.value("ownerReferences", Json::array())) {
    if (!owner.value("controller", false)) continue;
    const std::string name = owner.value("kind", "") + "/" + owner.value("name", "");
    if (controller.empty()) {
      controller = name;
      continue;
    }
    return invalid(
        table.kind, metadata.value("name", ""),
        {{"metadata.ownerReferences", "FieldValueInvalid",
          fmt::format("Invalid value: {}: Only one reference can have Controller set to true. "
                      "Found \"true\" in references for {} and {}",
                      dump_json(metadata["ownerReferences"]), controller, name)}});
  }
  return std::nullopt;
}

/// Two ports of one name: what an apply leaves behind when somebody else changed a port's number.
std::optional<Refusal> check_port_names(const Table& table, const Json& service) {
  const Json ports = service.at("spec").value("ports", Json::array());
  for (std::size_t i = 0; i < ports.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const std::string name = ports[i].value("name", "");
      if (name.empty() || name != ports[j].value("name", "")) continue;
      return invalid(table.kind, service["metadata"]["name"],
                     {{fmt::format("spec.ports[{}].name", i), "FieldValueDuplicate",
                       fmt::format("Duplicate value: \"{}\"", name)}});
    }
  }
  return std::nullopt;
}

/// What an apply leaves behind when somebody else said from the other end what may be missing.
std::optional<Refusal> check_budget(const Table& table, const Json& budget) {
  const Json spec = budget.value("spec", Json::object());
  if (!spec.contains("minAvailable") || !spec.contains("maxUnavailable")) return std::nullopt;
  return invalid(table.kind, budget["metadata"]["name"],
                 {{"spec", "FieldValueInvalid",
                   fmt::format("Invalid value: {}: minAvailable and maxUnavailable cannot be both "
                               "set",
                               dump_json(spec))}});
}

void prepare_service(const ObjectStore& store, Json& service) {
  Json& spec = service["spec"];
  fill(spec, "type", "ClusterIP");
  fill(spec, "sessionAffinity", "None");
  fill(spec, "internalTrafficPolicy", "Cluster");
  fill(spec, "ipFamilyPolicy", "SingleStack");
  fill(spec, "ipFamilies", {"IPv4"});
  if (!spec.contains("clusterIP") || spec["clusterIP"] == "") {
    const std::int64_t number = store.version() % 65'000 + 10;
    spec["clusterIP"] = fmt::format("10.96.{}.{}", number / 250, number % 250 + 1);
  }
  fill(spec, "clusterIPs", Json::array({spec["clusterIP"]}));
  if (spec.contains("ports")) {
    for (Json& port : spec["ports"]) {
      fill(port, "protocol", "TCP");
      fill(port, "targetPort", port["port"]);
    }
  }
  service["status"] = {{"loadBalancer", Json::object()}};
}

std::optional<Refusal> prepare_custom(const Table& table, Json& object) {
  const Kind& kind = table.kind;
  if (!kind.schema.is_object()) return std::nullopt;
  prune_unknown(kind.schema, object);
  set_defaults(kind.schema, object);
  const auto causes = check_schema(kind.schema, object);
  if (causes.empty()) return std::nullopt;
  return invalid(kind, object["metadata"].value("name", ""), causes);
}

/// A pod's spec without what may be changed in place.
Json fixed_pod_spec(const Json& pod) {
  Json spec = pod.at("spec");
  for (const char* name : {"activeDeadlineSeconds", "tolerations"}) spec.erase(name);
  for (const char* list : {"containers", "initContainers"}) {
    if (!spec.contains(list)) continue;
    for (Json& container : spec[list]) container.erase("image");
  }
  return spec;
}

std::optional<Refusal> check_pod_change(const Table& table, const Json& before, const Json& after) {
  if (before.at("spec") == after.at("spec")) return std::nullopt;
  const std::string name = before["metadata"]["name"];
  if (fixed_pod_spec(before) != fixed_pod_spec(after)) {
    return invalid(
        table.kind, name,
        {{"spec", "FieldValueForbidden",
          "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
          "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
          "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be "
          "set to 1 if it was previously negative)"}});
  }
  for (std::size_t i = 0; i < after["spec"]["containers"].size(); ++i) {
    if (!after["spec"]["containers"][i].value("image", "").empty()) continue;
    return invalid(
        table.kind, name,
        {{fmt::format("spec.containers[{}].image", i), "FieldValueRequired", "Required value"}});
  }
  return std::nullopt;
}

std::optional<Refusal> check_immutable(const Table& table, const Json& before, const Json& after) {
  if (!before.value("immutable", false)) return std::nullopt;
  const std::string name = before["metadata"]["name"];
  if (!after.value("immutable", false)) {
    return invalid(table.kind, name,
                   {{"immutable", "FieldValueForbidden",
                     "Forbidden: field is immutable when `immutable` is set"}});
  }
  for (const char* field : {"data", "binaryData"}) {
    if (before.value(field, Json()) == after.value(field, Json())) continue;
    return invalid(
        table.kind, name,
        {{field, "FieldValueForbidden", "Forbidden: field is immutable when `immutable` is set"}});
  }
  return std::nullopt;
}

std::optional<Refusal> check_finalizers(const Table& table, const Json& before, const Json& after) {
  const Json& old = before.at("metadata");
  if (!old.contains("deletionTimestamp")) return std::nullopt;
  const Json had = old.value("finalizers", Json::array());
  std::string added;
  for (const Json& name : after.at("metadata").value("finalizers", Json::array())) {
    if (std::find(had.begin(), had.end(), name) == had.end()) added += dump_json(name);
  }
  if (added.empty()) return std::nullopt;
  return invalid(
      table.kind, old.at("name"),
      {{"metadata.finalizers", "FieldValueForbidden",
        "Forbidden: no new finalizers can be added if the object is being deleted, found "
        "new finalizers []string{" +
            added + "}"}});
}

}  // namespace

std::optional<Refusal> prepare_new(ObjectStore& store, const Table& table, Json& object) {
  const Kind& kind = table.kind;
  if (auto refusal = check_name(kind, object["metadata"].value("name", ""))) return refusal;
  if (auto refusal = check_owners(table, object)) return refusal;
  if (kind.is_custom) return prepare_custom(table, object);
  if (kind.plural == "pods") return prepare_pod(store, table, object);
  if (kind.plural == "services") prepare_service(store, object);
  if (kind.plural == "poddisruptionbudgets") return check_budget(table, object);
  if (kind.plural == "secrets") {
    fill(object, "type", "Opaque");
    if (object.contains("stringData")) object.erase("stringData");
  }
  if (kind.plural == "customresourcedefinitions") {
    object["metadata"]["finalizers"] = {"customresourcecleanup.apiextensions.k8s.io"};
    const Json condition = {{"type", "Established"}, {"status", "True"}};
    object["status"] = {{"conditions", Json::array({condition})}};
  }
  if (kind.plural == "namespaces") {
    object["spec"]["finalizers"] = {"kubernetes"};
    object["status"] = {{"phase", "Active"}};
  }
  return std::nullopt;
}

std::optional<Refusal> prepare_change(const Table& table, const Json& before, Json& after,
                                      const std::string& subresource) {
  if (!subresource.empty()) {
    return table.kind.is_custom ? prepare_custom(table, after) : std::nullopt;
  }
  if (auto refusal = check_finalizers(table, before, after)) return refusal;
  if (auto refusal = check_owners(table, after)) return refusal;
  if (table.kind.is_custom) return prepare_custom(table, after);
  if (table.kind.plural == "pods") {
    if (!after.contains("spec") || !after["spec"].contains("containers")) {
      return invalid(table.kind, before["metadata"]["name"],
                     {{"spec.containers", "FieldValueRequired", "Required value"}});
    }
    for (Json& container : after["spec"]["containers"]) fill_container(container);
    return check_pod_change(table, before, after);
  }
  if (table.kind.plural == "services" && after.contains("spec")) {
    const Json& old = before.at("spec");
    Json& spec = after["spec"];
    for (const auto& [name, value] : old.items()) {
      const bool allocated = name == "clusterIP" || name == "clusterIPs";
      const bool defaulted = allocated || name == "type" || name == "sessionAffinity" ||
                             name == "internalTrafficPolicy" || name == "ipFamilies" ||
                             name == "ipFamilyPolicy";
      if (defaulted) fill(spec, name.c_str(), value);
    }
    if (spec["clusterIP"] != old.at("clusterIP")) {
      return invalid(table.kind, before["metadata"]["name"],
                     {{"spec.clusterIPs[0]", "FieldValueInvalid",
                       fmt::format("Invalid value: [{}]: may not change once set",
                                   dump_json(spec["clusterIP"]))}});
    }
    if (spec.contains("ports")) {
      for (Json& port : spec["ports"]) {
        fill(port, "protocol", "TCP");
        fill(port, "targetPort", port["port"]);
      }
    }
    if (auto refusal = check_port_names(table, after)) return refusal;
  }
  if (table.kind.plural == "poddisruptionbudgets") return check_budget(table, after);
  return check_immutable(table, before, after);
}

bool is_generation_change(const Json& before, const Json& after) {
  const auto counts = [](const std::string& name) {
    return name != "metadata" && name != "status" && name != "apiVersion" && name != "kind";
  };
  const Json& old = before.at("metadata");
  const Json& now = after.at("metadata");
  if (now.contains("deletionTimestamp") && !old.contains("deletionTimestamp")) return true;
  for (const auto& [name, value] : before.items()) {
    if (!counts(name)) continue;
    const auto found = after.find(name);
    if (found == after.end() || *found != value) return true;
  }
  for (const auto& [name, value] : after.items()) {
    if (counts(name) && !before.contains(name)) return true;
  }
  return false;
}

}  // namespace kantha::fake
