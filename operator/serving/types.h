#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/problem.h"

/// The ModelServing object (group serving.kantha.dev, version v1alpha1) as plain data.
///
/// The structs follow the YAML field by field and carry the defaults of the contract. They hold
/// what was read and nothing derived: quantities stay text (quantity.h gives their numbers), and
/// ranges are judged in validate.h. Values; any thread.
namespace kantha::serving {

inline constexpr const char* kGroup = "serving.kantha.dev";
inline constexpr const char* kApiVersion = "serving.kantha.dev/v1alpha1";
inline constexpr const char* kKind = "ModelServing";
inline constexpr const char* kPlural = "modelservings";

/// A count or a share of a total, as in "2" or "25%".
struct IntOrPercent {
  std::int64_t value = 0;
  bool percent = false;
  auto operator<=>(const IntOrPercent&) const = default;
};

/// A file in a PersistentVolumeClaim.
struct PvcSource {
  std::string claim_name;
  std::string path;
  bool operator==(const PvcSource&) const = default;
};

/// A file to fetch, named by its digest.
struct HttpSource {
  std::string url;
  std::string sha256;
  bool operator==(const HttpSource&) const = default;
};

/// A file inside an OCI image.
struct ImageSource {
  std::string reference;
  std::string path;
  bool operator==(const ImageSource&) const = default;
};

/// Where the weights come from; exactly one is set in a valid object.
struct ModelSource {
  std::optional<std::string> host_path;
  std::optional<PvcSource> pvc;
  std::optional<HttpSource> http;
  std::optional<ImageSource> image;
  bool operator==(const ModelSource&) const = default;
};

struct ModelSpec {
  /// Served id, free text (upper case and slashes are fine); empty means metadata.name.
  std::string name;
  ModelSource source;
  bool operator==(const ModelSpec&) const = default;
};

/// What the engine is told; every field travels in its configuration file.
struct EngineConfig {
  std::int64_t max_model_len = 0;  ///< tokens; 0: the model's own context length
  std::int64_t max_num_seqs = 64;  ///< sequences in one batch
  std::int64_t block_size = 16;    ///< tokens in one KV block
  std::string kv_cache_dtype = "auto";
  std::string kv_cache_memory;  ///< quantity; empty: the engine decides
  double gpu_memory_utilization = 0.92;
  bool prefix_caching = true;
  /// How long a first token may wait in the engine's queue; bounds it where maxQueuedTokens is 0.
  std::int64_t ttft_target_ms = 30'000;
  std::int64_t itl_target_ms = 0;    ///< pause between tokens that other prompts may cause; 0: auto
  std::string tool_parser = "auto";  ///< how the model writes calls; auto: by its template
  std::string reasoning_parser = "auto";  ///< how it marks its reasoning
  bool operator==(const EngineConfig&) const = default;
};

struct EngineSpec {
  /// Container image by digest; local world: empty, or the path of an engine binary.
  std::string image;
  EngineConfig config;
  bool operator==(const EngineSpec&) const = default;
};

/// As autoscaling/v2 HPAScalingPolicy: at most `value` pods, or percent of them, in a period.
struct ScalingPolicy {
  std::string type = "Pods";  ///< Pods or Percent
  std::int64_t value = 1;
  std::int64_t period_seconds = 15;
  bool operator==(const ScalingPolicy&) const = default;
};

/// As autoscaling/v2 HPAScalingRules; what is not given is the HPA's default of that direction.
struct ScalingRules {
  std::optional<std::int64_t> stabilization_window_seconds;
  std::string select_policy;  ///< Max, Min or Disabled; empty: Max
  std::vector<ScalingPolicy> policies;
  std::string tolerance;  ///< quantity, a share of the target; empty: 100m
  bool operator==(const ScalingRules&) const = default;
};

struct ScalingBehavior {
  std::optional<ScalingRules> scale_up;
  std::optional<ScalingRules> scale_down;
  bool operator==(const ScalingBehavior&) const = default;
};

struct AutoscalingSpec {
  std::int64_t min_replicas = 1;  ///< 0: to none, after idle_seconds without a request
  std::int64_t max_replicas = 1;
  double target_kv_pressure = 0.7;
  std::int64_t idle_seconds = 600;  ///< with min_replicas 0 only
  ScalingBehavior behavior = {};

  bool may_sleep() const { return min_replicas == 0; }
  /// The fewest pods while there are any.
  std::int64_t awake_min() const { return may_sleep() ? 1 : min_replicas; }
  bool operator==(const AutoscalingSpec&) const = default;
};

struct AcceleratorSpec {
  std::string resource_name = "nvidia.com/gpu";
  std::int64_t count = 0;
  bool operator==(const AcceleratorSpec&) const = default;
};

struct ResourcesSpec {
  AcceleratorSpec accelerator;
  std::string cpu;     ///< quantity, empty when not given
  std::string memory;  ///< quantity, empty when not given
  bool operator==(const ResourcesSpec&) const = default;
};

/// As core/v1 Toleration.
struct Toleration {
  std::string key;
  std::string op;  ///< "operator" in YAML: Exists or Equal; empty means Equal
  std::string value;
  std::string effect;
  std::optional<std::int64_t> toleration_seconds;
  bool operator==(const Toleration&) const = default;
};

/// As core/v1 TopologySpreadConstraint, without a selector: the operator sets its own.
struct TopologySpread {
  std::int64_t max_skew = 1;
  std::string topology_key;
  std::string when_unsatisfiable = "DoNotSchedule";
  bool operator==(const TopologySpread&) const = default;
};

struct SchedulingSpec {
  std::map<std::string, std::string> node_selector;
  std::vector<Toleration> tolerations;
  std::vector<TopologySpread> topology_spread_constraints;
  std::string priority_class_name;
  bool operator==(const SchedulingSpec&) const = default;
};

struct RingSpec {
  std::string name;
  IntOrPercent size;
  bool operator==(const RingSpec&) const = default;
};

struct BakeSpec {
  std::int64_t seconds = 600;
  std::int64_t min_requests = 200;
  bool operator==(const BakeSpec&) const = default;
};

struct GatesSpec {
  double max_error_ratio = 0.01;
  double max_ttft_p95_ratio = 1.1;
  double max_itl_p95_ratio = 1.15;
  std::string golden_prompts_config_map;  ///< gates.goldenPrompts.configMap
  bool operator==(const GatesSpec&) const = default;
};

/// A time of the week, in UTC, at which rings may begin.
struct WindowSpec {
  std::vector<std::string> days;  ///< Mon, Tue, …; empty: every day
  std::string start;              ///< "22:00"
  std::string end;                ///< "04:00"; at or before the start: on the next day
  bool operator==(const WindowSpec&) const = default;
};

struct RolloutSpec {
  std::vector<RingSpec> rings;      ///< empty: one ring of everything
  std::vector<WindowSpec> windows;  ///< empty: at any time
  BakeSpec bake;
  GatesSpec gates;
  IntOrPercent max_unavailable{1, false};
  bool paused = false;
  /// A pod that was told a new revision and is not ready for so long fails it.
  std::int64_t progress_deadline_seconds = 600;
  std::string abort;  ///< "r-6c1f…": this target is given up
  /// "r-6c1f…/canary": this ring of that target passes without its gates; "r-6c1f…/*": all do.
  std::string promote;
  bool operator==(const RolloutSpec&) const = default;
};

/// The file of golden prompts: a key of the ConfigMap, in the local world a file of the folder of
/// that name.
inline constexpr const char* kGoldenFile = "prompts.json";

/// 0 means no limit.
struct GatewayLimits {
  std::int64_t max_queued_tokens = 0;
  std::int64_t requests_per_minute = 0;
  std::int64_t tokens_per_minute = 0;
  bool operator==(const GatewayLimits&) const = default;
};

/// The file of API keys: a key of the Secret `authSecret`, in the local world a file of the folder
/// of that name.
inline constexpr const char* kApiKeysFile = "keys.json";

struct GatewaySpec {
  std::string auth_secret;
  GatewayLimits limits;
  bool operator==(const GatewaySpec&) const = default;
};

struct DrainSpec {
  std::int64_t timeout_seconds = 300;
  bool operator==(const DrainSpec&) const = default;
};

struct ModelServingSpec {
  ModelSpec model;
  EngineSpec engine;
  /// nullopt: not given. Whoever scales owns it; replicas_or_default gives the number to act on.
  std::optional<std::int64_t> replicas;
  std::optional<AutoscalingSpec> autoscaling;
  ResourcesSpec resources;
  SchedulingSpec scheduling;
  RolloutSpec rollout;
  GatewaySpec gateway;
  DrainSpec drain;
  bool operator==(const ModelServingSpec&) const = default;
};

/// The part of metav1.ObjectMeta that is ours to read.
struct ObjectMeta {
  std::string name;
  std::string name_space;  ///< "namespace" in YAML; empty when not given
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::int64_t generation = 0;  ///< counts changes of spec; set by who stores the object
  bool operator==(const ObjectMeta&) const = default;
};

struct ModelServing {
  ObjectMeta metadata;
  ModelServingSpec spec;

  /// The id that clients name: spec.model.name, else metadata.name.
  const std::string& served_name() const {
    return spec.model.name.empty() ? metadata.name : spec.model.name;
  }
  /// spec.replicas, else autoscaling's minimum, else 1. What may sleep begins awake, so that a spec
  /// that cannot be served shows it at once.
  std::int64_t replicas_or_default() const {
    if (spec.replicas) return *spec.replicas;
    return spec.autoscaling ? spec.autoscaling->awake_min() : 1;
  }
  bool operator==(const ModelServing&) const = default;
};

/// What is wrong with an object.
using kantha::Problem;
using kantha::Problems;

}  // namespace kantha::serving
