#include "operator/local/local_rules.h"

#include <unistd.h>

namespace kantha::local {

serving::Problems local_problems(const serving::ModelServing& serving) {
  serving::Problems out;
  const serving::ModelServingSpec& spec = serving.spec;
  const auto absent = [&](const char* field) {
    out.push_back({std::string("spec.model.source.") + field,
                   "not available in the local world; use hostPath with a GGUF file, or http"});
  };
  if (spec.model.source.pvc) absent("pvc");
  if (spec.model.source.image) absent("image");
  if (const std::string& image = spec.engine.image; !image.empty()) {
    if (!image.starts_with('/') || access(image.c_str(), X_OK) != 0) {
      out.push_back({"spec.engine.image",
                     "in the local world, expected nothing or the absolute path of an engine "
                     "program, got \"" +
                         image + "\""});
    }
  }
  if (serving.replicas_or_default() > kLocalReplicasMax) {
    out.push_back({"spec.replicas", "the local world runs at most " +
                                        std::to_string(kLocalReplicasMax) + " pods, got " +
                                        std::to_string(serving.replicas_or_default())});
  }
  if (spec.autoscaling && spec.autoscaling->max_replicas > kLocalReplicasMax) {
    out.push_back({"spec.autoscaling.maxReplicas",
                   "the local world runs at most " + std::to_string(kLocalReplicasMax) +
                       " pods, got " + std::to_string(spec.autoscaling->max_replicas)});
  }
  return out;
}

}  // namespace kantha::local
