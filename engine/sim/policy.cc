#include "engine/sim/policy.h"

namespace kantha::sim {

std::string_view name_of(PolicyKind kind) {
  switch (kind) {
    case PolicyKind::kStatic: return "static";
    case PolicyKind::kDynamic: return "dynamic";
    case PolicyKind::kContinuous: return "continuous";
  }
  return "?";
}

Result<PolicyKind> policy_from_name(std::string_view name) {
  for (const PolicyKind kind :
       {PolicyKind::kStatic, PolicyKind::kDynamic, PolicyKind::kContinuous}) {
    if (name == name_of(kind)) return kind;
  }
  return invalid_argument("unknown policy \"" + std::string(name) +
                          "\"; known policies: static, dynamic, continuous");
}

}  // namespace kantha::sim
