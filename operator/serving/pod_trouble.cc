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

constexpr std::array<std::string_view, 7> kImageReasons = {
    "ErrImagePull",      "ImagePullBackOff",    "ErrImageNeverPull",        "InvalidImageName",
    "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"};

bool is_failing_reason(std::string_view reason) {
  return std::find(kFailingReasons.begin(), kFailingReasons.end(), reason) != kFailingReasons.end();
}

/// From so many restarts on, a container that is not ready is in a crash loop, whatever it does at
/// this moment.
constexpr std::int64_t kLoopRestarts = 3;

bool is_pull_trouble(std::string_view reason) {
  return reason == "ImagePullBackOff" || reason == "ErrImagePull";
}

/// A pod in trouble goes from one reason to the next and back for as long as it lasts. The text is
/// the same all the time, for each change would be a write.
std::string steady_reason(const ContainerState& state) {
  if (is_pull_trouble(state.waiting_reason)) return "ImagePullBackOff";
  return is_failing_reason(state.waiting_reason) ? state.waiting_reason : "CrashLoopBackOff";
}

std::string steady_message(const ContainerState& state) {
  // It says no more than for how many seconds the kubelet waits.
  if (steady_reason(state) == "CrashLoopBackOff") return {};
  std::string_view text = state.waiting_message;
  static constexpr std::string_view kCause = "ErrImagePull: ";
  const std::size_t cause = text.find(kCause);
  if (is_pull_trouble(state.waiting_reason) && cause != std::string_view::npos) {
    text.remove_prefix(cause + kCause.size());
  }
  return std::string(text);
}

std::string restarts_text(std::int64_t restarts) {
  return restarts < 10 ? std::to_string(restarts) : "10 or more";
}

/// "engine: CrashLoopBackOff after 4 restarts, last exit 137 (OOMKilled)"
std::string container_text(std::string_view name, const ContainerState& state) {
  std::string out = std::string(name) + ": " + steady_reason(state);
  if (state.restarts > 0) out += " after " + restarts_text(state.restarts) + " restarts";
  if (state.exit_code) {
    out += ", last exit " + std::to_string(*state.exit_code);
    if (!state.exit_reason.empty()) out += " (" + state.exit_reason + ")";
  }
  const std::string message = steady_message(state);
  return message.empty() ? out : out + ": " + message;
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
  if (pod.node.empty()) {
    out.message = "waits for a node";
  } else if (creating) {
    out.message = (reason.empty() ? "starting" : reason) + " on " + pod.node;
  } else {
    out.message = "not ready on " + pod.node;
  }
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
    // A container that was told a new image restarted too, but ended well.
    const bool loops =
        !pod.ready && state.restarts >= kLoopRestarts && state.exit_code && *state.exit_code != 0;
    if (loops || is_failing_reason(state.waiting_reason)) {
      return {true, false, container_text(name, state), std::nullopt};
    }
  }
  if (pod.ready) return {};
  return waiting_trouble(pod, now);
}

bool is_image_trouble(std::string_view waiting_reason) {
  return std::ranges::find(kImageReasons, waiting_reason) != kImageReasons.end();
}

}  // namespace kantha::serving
