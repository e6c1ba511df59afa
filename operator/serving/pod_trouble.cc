#include "operator/serving/pod_trouble.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace kantha::serving {
namespace {

/// A pod whose containers have not been made by then lacks something that the kubelet tells in
/// Events only: a Secret, a claim, a folder.
constexpr std::chrono::minutes kCreatingMax{10};

/// Reasons of a waiting container that somebody has to look at. Source: kubelet, pkg/kubelet/images
/// and pkg/kubelet/container (constants of the same names).
constexpr std::array<std::string_view, 12> kFailingReasons = {
    "CrashLoopBackOff",    "ImagePullBackOff",           "ErrImagePull",
    "ErrImageNeverPull",   "InvalidImageName",           "ImageInspectError",
    "RegistryUnavailable", "CreateContainerConfigError", "CreateContainerError",
    "RunContainerError",   "SignatureValidationFailed",  "ErrImagePullPolicy"};

bool is_failing_reason(std::string_view reason) {
  return std::find(kFailingReasons.begin(), kFailingReasons.end(), reason) != kFailingReasons.end();
}

/// "CrashLoopBackOff after 4 restarts, last exit 137 (OOMKilled): back-off 40s …"
std::string container_text(std::string_view name, const ContainerState& state) {
  std::string out = std::string(name) + ": " + state.waiting_reason;
  if (state.restarts > 0) out += " after " + std::to_string(state.restarts) + " restarts";
  if (state.exit_code) {
    out += ", last exit " + std::to_string(*state.exit_code);
    if (!state.exit_reason.empty()) out += " (" + state.exit_reason + ")";
  }
  if (!state.waiting_message.empty()) out += ": " + state.waiting_message;
  return out;
}

PodTrouble ended_trouble(const PodObject& pod) {
  PodTrouble out;
  out.failing = true;
  out.message = pod.reason.empty() ? "ended" : pod.reason;
  if (!pod.message.empty()) out.message += ": " + pod.message;
  return out;
}

/// Waits for its containers to be made, or to be ready.
PodTrouble waiting_trouble(const PodObject& pod, WallTime now) {
  PodTrouble out;
  const bool creating = pod.phase == PodPhase::kPending && !pod.noded.running;
  const std::string& reason = pod.noded.waiting_reason;
  out.message = !pod.node.empty() && creating
                    ? (reason.empty() ? std::string("starting") : reason) + " on " + pod.node
                    : std::string(creating ? "waits for a node" : "starting");
  if (!creating || !pod.created || pod.node.empty()) return out;
  const WallTime limit = *pod.created + kCreatingMax;
  if (now < limit) {
    out.look_again = limit;
    return out;
  }
  out.failing = true;
  out.message +=
      " for more than 10 min; see the pod's Events (a Secret, claim or file may be "
      "missing)";
  return out;
}

}  // namespace

PodTrouble pod_trouble(const PodObject& pod, WallTime now) {
  if (pod.has_ended()) return ended_trouble(pod);
  if (!pod.unschedulable_message.empty()) {
    return {true, true, "Unschedulable: " + pod.unschedulable_message, std::nullopt};
  }
  for (const auto& [name, state] :
       {std::pair<std::string_view, const ContainerState&>{"engine", pod.engine},
        std::pair<std::string_view, const ContainerState&>{"noded", pod.noded}}) {
    if (is_failing_reason(state.waiting_reason)) {
      return {true, false, container_text(name, state), std::nullopt};
    }
  }
  if (pod.ready) return {};
  return waiting_trouble(pod, now);
}

}  // namespace kantha::serving
