#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

/// What node autoscalers say of a pod that waits for a node, in events on it. Pure; any thread.
namespace kantha::serving {

/// The newest word.
struct ScaleUpNews {
  enum class Is : std::uint8_t {
    kNothing,    ///< nobody said anything: there may be no node autoscaler
    kTriggered,  ///< a node is on its way
    kRefused,    ///< no kind of node that may be added would do
  } is = Is::kNothing;
  std::string message = {};  ///< the event's, bounded
  bool operator==(const ScaleUpNews&) const = default;
};

/// `events`: v1 Events, in any order; those of other pods, and other reasons, count nothing.
/// Cluster Autoscaler says TriggeredScaleUp or NotTriggerScaleUp, Karpenter says Nominated; the
/// scheduler's FailedScheduling is in the pod itself.
ScaleUpNews scale_up_news(const std::vector<Json>& events, std::string_view pod_uid);

}  // namespace kantha::serving
