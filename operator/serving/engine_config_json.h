#pragma once

#include <string>

#include "base/json.h"
#include "operator/serving/types.h"

/// The engine's configuration file, and the digests that tell one revision from the next. Pure; any
/// thread.
namespace kantha::serving {

/// What a pod adds to the spec: where its files are.
struct EnginePlacement {
  std::string model_path;   ///< the weights, as the pod sees them
  std::string socket_path;  ///< the Unix socket on which the engine listens
};

/// The text of engine.json: {"model", "engine", "listen", "drain"}, keys in a fixed order, one line
/// end at the end. Equal input gives equal bytes. The spec must be valid. maxModelLen 0 and an
/// empty kvCacheMemory are left out: the engine then decides. kvCacheMemory is in bytes; "threads"
/// is resources.cpu rounded up, "maxQueuedTokens" the gateway's limit; both only when given.
std::string engine_config_json(const ModelServing& serving, const EnginePlacement& placement);

/// SHA-256 of such a text; noded reports the same for the file that its engine runs with.
std::string engine_config_hash(const std::string& config_json);

/// Two digests of a spec. Replicas, autoscaling, labels and rollout pacing are in neither.
struct Revision {
  /// Everything that decides what answers: image, engine config, model. Changes: engines restart.
  std::string whole;
  /// The part fixed when a pod is made: image, served name, drain. Changes: pods are replaced.
  std::string pod;
  bool operator==(const Revision&) const = default;
};

/// `model_path` is the resolved path of the weights.
Revision revision_of(const ModelServing& serving, const std::string& model_path);

/// "r-" and the first ten digits, for people.
std::string short_revision(const std::string& digest);

}  // namespace kantha::serving
