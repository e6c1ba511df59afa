#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operator/serving/engine_config_json.h"
#include "operator/serving/types.h"

/// What a pod of the cluster is made of, and the digests that tell one make from the next. Pure;
/// any thread.
namespace kantha::serving {

/// The operator's own choices, the same for every object.
struct ClusterSettings {
  std::string noded_image;
  std::string engine_image;       ///< for objects without spec.engine.image
  std::string image_pull_policy;  ///< "IfNotPresent", "Never", …; empty: Kubernetes' rule
  std::vector<std::string> image_pull_secrets = {};
  /// Folder of every node in which fetched weights are kept, shared by all pods of the node; empty:
  /// each pod fetches into a volume of its own.
  std::string model_cache_host_path = {};
  std::int64_t model_cache_quota_bytes = 0;  ///< 0: as much as its disk
  bool operator==(const ClusterSettings&) const = default;
};

/// spec.engine.image, else the operator's.
const std::string& engine_image_of(const ModelServing& serving, const ClusterSettings& settings);

/// Path of the weights inside the engine container: "/models/<basename>", "/models/<path>", or
/// "/models/<sha256>" where noded fetches them. Empty without a source.
std::string model_path_of(const ModelSource& source);

/// The text of engine.json for pods of this object. The spec must be valid.
std::string cluster_engine_config(const ModelServing& serving);

/// Revision::whole is the digest of image, engine config and model: a change restarts the engines
/// in their pods. Revision::pod is that of everything else in a pod that follows from the object or
/// the settings (noded's image, resources, scheduling, volumes, served name, drain): a change
/// replaces pods. Quantities count by value: "1000m" is "1". Same precondition.
Revision cluster_revision_of(const ModelServing& serving, const ClusterSettings& settings);

}  // namespace kantha::serving
