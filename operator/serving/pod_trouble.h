#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "operator/serving/pod_object.h"

/// Why a pod is not ready, from what kubelet and scheduler report. Pure; any thread.
namespace kantha::serving {

struct PodTrouble {
  /// It will not become ready by waiting alone.
  bool failing = false;
  bool unschedulable = false;
  /// For people: "engine: CrashLoopBackOff after 4 restarts, last exit 137 (OOMKilled)".
  std::string message;
  /// When waiting would become failing without any event.
  std::optional<WallTime> look_again;
};

PodTrouble pod_trouble(const PodObject& pod, WallTime now);

/// Whether a container waits, by the reason that the kubelet gives, for an image that is not there.
bool is_image_trouble(std::string_view waiting_reason);

}  // namespace kantha::serving
