#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "operator/local/world_view.h"
#include "operator/serving/plan_cluster.h"
#include "operator/serving/pod_object.h"

/// A ModelServing of a cluster in the shape in which worlds of this machine are shown. Pure; any
/// thread.
namespace kantha::cli {

/// Counts and conditions from status, pods from the pods. What only nodeds know (streams, KV) is
/// left unknown; `scaling` is the arithmetic of the last decision in status. kInvalidArgument: not
/// a ModelServing.
Result<local::WorldView> cluster_world_view(const Json& object, const std::vector<Json>& pods,
                                            WallTime now);

/// One word for a pod, as local worlds have them: pending, starting, ready, crash_loop, ending, …
std::string pod_phase_word(const serving::PodObject& pod);

/// What an operator would do now, as far as the object and its pods tell.
struct PlanView {
  serving::ClusterPlan plan;
  /// What had to be assumed, a sentence; empty: nothing.
  std::string assumption;
};
/// The operator's images are read from the pods that it made.
Result<PlanView> cluster_plan_view(const Json& object, const std::vector<Json>& pods,
                                   serving::Moment at);

}  // namespace kantha::cli
