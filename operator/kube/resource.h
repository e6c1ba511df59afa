#pragma once

#include <compare>
#include <string>
#include <string_view>

/// What is named on the API server: kinds of objects and single objects. Values; any thread.
namespace kantha::kube {

/// Names one object of a kind. `name_space` is empty for cluster-scoped kinds.
struct ObjectKey {
  std::string name_space;
  std::string name;
  auto operator<=>(const ObjectKey&) const = default;
  /// "default/smollm2", or "node1" without a namespace; for logs and metrics.
  std::string to_string() const;
};

/// One kind as the API server serves it (group, version and plural make its path).
struct Resource {
  std::string_view group;    ///< empty for the core group
  std::string_view version;  ///< "v1"
  std::string_view plural;   ///< "pods"
  std::string_view kind;     ///< "Pod"
  bool is_namespaced = true;

  /// "v1" or "apps/v1", as in an object's apiVersion.
  std::string api_version() const;
  /// Path of the collection; an empty namespace means all namespaces (or a cluster-scoped kind).
  std::string collection_path(std::string_view name_space) const;
  /// Path of one object, every segment percent-encoded; `subresource` as in "status", may be empty.
  std::string object_path(const ObjectKey& key, std::string_view subresource = {}) const;
};

inline constexpr Resource kPods{"", "v1", "pods", "Pod"};
inline constexpr Resource kServices{"", "v1", "services", "Service"};
inline constexpr Resource kSecrets{"", "v1", "secrets", "Secret"};
inline constexpr Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap"};
inline constexpr Resource kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount"};
inline constexpr Resource kEvents{"", "v1", "events", "Event"};
inline constexpr Resource kPodDisruptionBudgets{"policy", "v1", "poddisruptionbudgets",
                                                "PodDisruptionBudget"};
inline constexpr Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease"};
inline constexpr Resource kModelServings{"serving.kantha.dev", "v1alpha1", "modelservings",
                                         "ModelServing"};

}  // namespace kantha::kube

template <>
struct std::hash<kantha::kube::ObjectKey> {
  std::size_t operator()(const kantha::kube::ObjectKey& key) const noexcept {
    return std::hash<std::string>{}(key.name_space) * 31 + std::hash<std::string>{}(key.name);
  }
};
