#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

/// A pod as the API server has it, cut down to what the operator decides on: about a kilobyte each,
/// because a hundred thousand of them are kept. Pure; any thread.
namespace kantha::serving {

enum class PodPhase : std::uint8_t { kPending, kRunning, kSucceeded, kFailed, kUnknown };

/// One container as the kubelet reports it.
struct ContainerState {
  std::string waiting_reason;   ///< "CrashLoopBackOff"; empty when it does not wait
  std::string waiting_message;  ///< at most 512 bytes
  std::string image;            ///< the image that runs, as the kubelet spells it
  std::string image_id;         ///< its digest, as the kubelet spells it
  std::int64_t restarts = 0;
  std::optional<int> exit_code;  ///< of its last end
  std::string exit_reason;       ///< "OOMKilled"
  bool running = false;
  bool operator==(const ContainerState&) const = default;
};

struct PodObject {
  std::string name_space;
  std::string name;
  std::string uid;
  std::string resource_version;
  std::string owner_uid;   ///< of the controlling owner; empty without one
  std::string owner_name;  ///< "ModelServing/smollm2"

  // Labels and annotations of ours; empty when absent.
  std::string serving;  ///< serving.kantha.dev/name
  std::string role;
  std::string ordinal;
  std::string told_revision;
  std::string born_revision;
  std::string pod_revision;
  std::string verified_revision;
  bool is_retold = false;  ///< was told another revision since it was born
  /// How often its engine had restarted when it was told another image; nullopt: it never was.
  std::optional<std::int64_t> image_told_at;
  /// The same of the last revision that it was told.
  std::optional<std::int64_t> told_at;
  /// SHA-256 of the annotation engine-config: what noded reports once its engine runs with it.
  std::string engine_config_hash;
  bool is_protected = false;  ///< carries the annotations that keep node autoscalers away

  PodPhase phase = PodPhase::kUnknown;
  std::string reason;   ///< of the whole pod: "Evicted", "UnexpectedAdmissionError"
  std::string message;  ///< at most 512 bytes
  bool ready = false;   ///< condition Ready is True
  std::optional<WallTime> ready_since;
  std::optional<WallTime> created;
  std::optional<WallTime> deletion;   ///< when its grace is over; set: it is being deleted
  std::string unschedulable_message;  ///< of PodScheduled=False, at most 512 bytes
  std::string node;
  std::string ip;
  std::string engine_image;        ///< spec.containers[engine].image
  std::int64_t engine_index = -1;  ///< of the engine in spec.containers; -1: it has none
  ContainerState noded;
  ContainerState engine;
  bool operator==(const PodObject&) const = default;

  bool is_terminating() const { return deletion.has_value(); }
  /// It ended for good: the kubelet starts nothing in it any more.
  bool has_ended() const { return phase == PodPhase::kFailed || phase == PodPhase::kSucceeded; }
  /// Whoever sends it a request gets an answer, as far as the API server knows.
  bool takes_requests() const { return ready && !is_terminating() && !has_ended() && !ip.empty(); }
};

/// Members of pods that pod_object_from_json does not look at, wherever they stand: most of a pod.
inline constexpr std::array<std::string_view, 25> kUnreadOfPods = {"affinity",
                                                                   "allocatedResources",
                                                                   "args",
                                                                   "command",
                                                                   "dnsConfig",
                                                                   "env",
                                                                   "envFrom",
                                                                   "ephemeralContainers",
                                                                   "hostIPs",
                                                                   "imagePullSecrets",
                                                                   "initContainerStatuses",
                                                                   "initContainers",
                                                                   "lifecycle",
                                                                   "livenessProbe",
                                                                   "nodeSelector",
                                                                   "podIPs",
                                                                   "ports",
                                                                   "readinessProbe",
                                                                   "resources",
                                                                   "securityContext",
                                                                   "startupProbe",
                                                                   "tolerations",
                                                                   "topologySpreadConstraints",
                                                                   "volumeMounts",
                                                                   "volumes"};

/// Decodes a pod. What is missing or of a wrong type stays empty; kInvalidArgument when it has no
/// usable metadata, kOutOfRange when it is too large or too deep (cluster_object.h).
Result<PodObject> pod_object_from_json(const Json& pod);

/// Whether the image that a kubelet reports is the one a spec asks for: equal but for the registry
/// and the tag that runtimes add, or of the digest that the spec names.
bool is_same_image(std::string_view wanted, const ContainerState& reported);

/// Whether the engine runs the image of the pod's spec: it never was told another; or the kubelet
/// reports that one; or it started again since, for what the kubelet reports may be another tag of
/// the same digest for as long as the image is on its node.
bool runs_told_image(const PodObject& pod);

}  // namespace kantha::serving
