#pragma once

#include <string>
#include <vector>

#include "noded/api/weights_state.h"
#include "operator/serving/plan.h"

/// Condition WeightsReady, in both worlds. Pure; any thread.
namespace kantha::serving {

/// What the noded of a pod that is not ready says of the weights that it brings.
struct PodWeightsView {
  std::string pod;
  noded::WeightsState state;
};

/// True Loaded once an engine runs with the weights; False FetchFailed or Fetching as nodeds tell,
/// the worst first; else Unknown NoPodReady. How far a download is appears in tenths, so that a
/// status is not written every second.
Condition weights_condition(bool any_ready, const std::vector<PodWeightsView>& weights);

}  // namespace kantha::serving
