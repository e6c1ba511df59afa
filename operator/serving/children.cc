#include "operator/serving/children.h"

#include <charconv>

#include "operator/serving/engine_config_json.h"

namespace kantha::serving {

std::string service_name(std::string_view name) { return std::string(name); }

std::string headless_service_name(std::string_view name) { return std::string(name) + "-pods"; }

std::string activator_slice_name(std::string_view name) { return std::string(name) + "-activator"; }

std::string disruption_budget_name(std::string_view name) { return std::string(name); }

std::string hpa_name(std::string_view name) { return std::string(name); }

std::string service_account_name(std::string_view name) { return std::string(name); }

std::string admin_secret_name(std::string_view name) { return std::string(name) + "-admin"; }

std::string revision_config_map_name(std::string_view name, const std::string& digest) {
  return std::string(name) + "-" + short_revision(digest);
}

std::optional<std::int64_t> ordinal_of_pod_name(std::string_view name, std::string_view pod) {
  if (!pod.starts_with(name) || pod.size() < name.size() + 2 || pod[name.size()] != '-') {
    return std::nullopt;
  }
  const std::string_view digits = pod.substr(name.size() + 1);
  std::int64_t ordinal = 0;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, ordinal);
  const bool canonical = digits.size() == 1 || (digits[0] >= '1' && digits[0] <= '9');
  if (error != std::errc{} || end != last || !canonical || ordinal < 0 || ordinal >= 10'000) {
    return std::nullopt;
  }
  return ordinal;
}

OrderedJson child_labels(std::string_view name) {
  return {{"app.kubernetes.io/name", "kantha"},
          {"app.kubernetes.io/instance", name},
          {"app.kubernetes.io/managed-by", kManagedBy},
          {kLabelName, name}};
}

OrderedJson pod_selector(std::string_view name) {
  return {{kLabelName, name}, {kLabelRole, kRoleReplica}};
}

std::string pod_selector_text(std::string_view name) {
  return std::string(kLabelName) + "=" + std::string(name) + "," + kLabelRole + "=" + kRoleReplica;
}

OrderedJson child_metadata(const ClusterServing& owner, const std::string& name) {
  OrderedJson out;
  out["name"] = name;
  out["namespace"] = owner.serving.metadata.name_space;
  out["labels"] = child_labels(owner.serving.metadata.name);
  OrderedJson reference;
  reference["apiVersion"] = kApiVersion;
  reference["kind"] = kKind;
  reference["name"] = owner.serving.metadata.name;
  reference["uid"] = owner.meta.uid;
  reference["controller"] = true;
  reference["blockOwnerDeletion"] = true;
  out["ownerReferences"] = OrderedJson::array({std::move(reference)});
  return out;
}

}  // namespace kantha::serving
