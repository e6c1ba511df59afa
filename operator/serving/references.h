#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operator/serving/cluster_revision.h"
#include "operator/serving/status_of.h"
#include "operator/serving/types.h"

/// The objects that a ModelServing names and that somebody else has to make. Pure; any thread.
namespace kantha::serving {

enum class ReferenceKind : std::uint8_t { kSecret, kConfigMap, kClaim };

/// What is amiss without it.
enum class ReferenceNeed : std::uint8_t {
  kPods,   ///< a new pod never starts: the kubelet waits for what it shall mount
  kPull,   ///< images may be refused to the node; a pod that is ready has them
  kGates,  ///< nothing yet; a rollout gate will want it
};

struct Reference {
  ReferenceKind kind = ReferenceKind::kSecret;
  ReferenceNeed need = ReferenceNeed::kPods;
  std::string name;
  std::string field;  ///< what names it: "spec.gateway.authSecret"
  bool operator==(const Reference&) const = default;
};

/// In the object's own namespace, in the order of the fields; each object once.
std::vector<Reference> references_of(const ModelServing& serving, const ClusterSettings& settings);

/// "SecretNotFound": spec.gateway.authSecret: Secret "x" does not exist in namespace "y".
Trouble missing_reference(const Reference& reference, const std::string& name_space);

}  // namespace kantha::serving
