#include "operator/serving/weights_condition.h"

namespace kantha::serving {
namespace {

using noded::WeightsPhase;

std::string progress_text(const noded::WeightsState& state) {
  if (state.bytes_total <= 0) return {};
  const std::int64_t tenths = 10 * state.bytes_done / state.bytes_total;
  const std::int64_t mebibytes = (state.bytes_total + (1 << 20) - 1) >> 20;
  return " (" + std::to_string(tenths * 10) + " % of " + std::to_string(mebibytes) + " MiB)";
}

Condition not_ready(const PodWeightsView& view) {
  const bool failed = view.state.phase == WeightsPhase::kFailed;
  std::string message = "pod " + view.pod + ": " + view.state.message;
  const bool names_source =
      view.state.source.empty() || message.find(view.state.source) != std::string::npos;
  if (!names_source) message += " from " + view.state.source;
  if (!failed) message += progress_text(view.state);
  return {"WeightsReady", ConditionStatus::kFalse, failed ? "FetchFailed" : "Fetching",
          std::move(message)};
}

}  // namespace

Condition weights_condition(bool any_ready, const std::vector<PodWeightsView>& weights) {
  if (any_ready) {
    return {"WeightsReady", ConditionStatus::kTrue, "Loaded", "an engine runs with them"};
  }
  const PodWeightsView* worst = nullptr;
  for (const PodWeightsView& view : weights) {
    if (view.state.phase == WeightsPhase::kReady) continue;
    const bool failed = view.state.phase == WeightsPhase::kFailed;
    if (worst == nullptr || (failed && worst->state.phase != WeightsPhase::kFailed)) worst = &view;
  }
  if (worst != nullptr) return not_ready(*worst);
  return {"WeightsReady", ConditionStatus::kUnknown, "NoPodReady", "no engine has loaded them yet"};
}

}  // namespace kantha::serving
