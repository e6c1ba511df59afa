#include "operator/serving/node_marks.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/json_text.h"

namespace kantha::serving {
namespace {

constexpr std::array<std::string_view, 4> kTaints = {
    "ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption",
    "node.kubernetes.io/unschedulable"};

}  // namespace

bool is_marked_for_removal(const Json& node) {
  if (!node.is_object()) return false;
  const auto spec = node.find("spec");
  if (spec == node.end() || !spec->is_object()) return false;
  const auto cordoned = spec->find("unschedulable");
  if (cordoned != spec->end() && *cordoned == true) return true;
  const auto taints = spec->find("taints");
  if (taints == spec->end() || !taints->is_array()) return false;
  return std::any_of(taints->begin(), taints->end(), [](const Json& taint) {
    return std::ranges::find(kTaints, text_at(taint, "key")) != kTaints.end();
  });
}

}  // namespace kantha::serving
