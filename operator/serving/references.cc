#include "operator/serving/references.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace kantha::serving {
namespace {

const char* kind_name(ReferenceKind kind) {
  switch (kind) {
    case ReferenceKind::kSecret: return "Secret";
    case ReferenceKind::kConfigMap: return "ConfigMap";
    case ReferenceKind::kClaim: return "PersistentVolumeClaim";
  }
  return "?";
}

}  // namespace

std::vector<Reference> references_of(const ModelServing& serving, const ClusterSettings& settings) {
  std::vector<Reference> out;
  const auto add = [&](Reference reference) {
    if (reference.name.empty()) return;
    const bool is_known = std::any_of(out.begin(), out.end(), [&](const Reference& known) {
      return known.kind == reference.kind && known.name == reference.name;
    });
    if (!is_known) out.push_back(std::move(reference));
  };
  const ModelServingSpec& spec = serving.spec;
  if (spec.model.source.pvc) {
    add({ReferenceKind::kClaim, ReferenceNeed::kPods, spec.model.source.pvc->claim_name,
         "spec.model.source.pvc.claimName"});
  }
  add({ReferenceKind::kConfigMap, ReferenceNeed::kGates,
       spec.rollout.gates.golden_prompts_config_map, "spec.rollout.gates.goldenPrompts.configMap"});
  add({ReferenceKind::kSecret, ReferenceNeed::kPods, spec.gateway.auth_secret,
       "spec.gateway.authSecret"});
  for (const std::string& secret : settings.image_pull_secrets) {
    add({ReferenceKind::kSecret, ReferenceNeed::kPull, secret,
         "--image-pull-secret of the operator"});
  }
  return out;
}

Trouble missing_reference(const Reference& reference, const std::string& name_space) {
  const std::string kind = kind_name(reference.kind);
  return {kind + "NotFound", reference.field + ": " + kind + " " + dump_json(Json(reference.name)) +
                                 " does not exist in namespace " + dump_json(Json(name_space))};
}

}  // namespace kantha::serving
