#include "operator/serving/model_serving_from_json.h"

#include "operator/serving/field_reader.h"

namespace kantha::serving {
namespace {

constexpr std::size_t kRingsMax = 16;
constexpr std::size_t kWindowsMax = 16;
constexpr std::size_t kDaysMax = 7;
constexpr std::size_t kListMax = 64;
constexpr std::size_t kScalingPoliciesMax = 8;

/// Reads the object part by part; carries the one setting they share.
class Decoder {
 public:
  Decoder(UnknownFields unknown, Problems& problems) : unknown_(unknown), problems_(problems) {}

  ModelServing read(const Json& json) {
    ModelServing out;
    if (json.is_null()) problems_.push_back({"", "expected an object, got null"});
    const FieldReader root(json, "", problems_);
    known(root, {"apiVersion", "kind", "metadata", "spec", "status"});
    check_identity(root);
    root.require("metadata");
    root.require("spec");
    if (const auto metadata = root.object("metadata")) read_metadata(*metadata, out.metadata);
    if (const auto spec = root.object("spec")) read_spec(*spec, out.spec);
    return out;
  }

 private:
  void known(const FieldReader& fields, std::initializer_list<std::string_view> names) const {
    if (unknown_ == UnknownFields::kRefuse) fields.check_known(names);
  }

  void check_identity(const FieldReader& root) const {
    for (const auto& [name, expected] :
         {std::pair{"apiVersion", kApiVersion}, std::pair{"kind", kKind}}) {
      // An entry of an API server's list has neither.
      if (unknown_ == UnknownFields::kRefuse) root.require(name);
      std::string value = expected;
      root.string(name, value);
      if (value != expected) {
        root.note(name, "expected \"" + std::string(expected) + "\", got " + shown_value(value));
      }
    }
  }

  void read_metadata(const FieldReader& in, ObjectMeta& out) const {
    known(in, {"name", "namespace", "labels", "annotations", "generation", "uid", "resourceVersion",
               "creationTimestamp", "managedFields", "finalizers", "ownerReferences",
               "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generateName"});
    in.require("name");
    in.string("name", out.name);
    in.string("namespace", out.name_space);
    in.string_map("labels", out.labels);
    in.string_map("annotations", out.annotations);
    in.integer("generation", out.generation);
  }

  void read_spec(const FieldReader& in, ModelServingSpec& out) const {
    known(in, {"model", "engine", "replicas", "autoscaling", "resources", "scheduling", "rollout",
               "gateway", "drain"});
    in.require("model");
    if (const auto model = in.object("model")) read_model(*model, out.model);
    if (const auto engine = in.object("engine")) read_engine(*engine, out.engine);
    in.integer("replicas", out.replicas);
    if (const auto scaling = in.object("autoscaling")) read_autoscaling(*scaling, out.autoscaling);
    if (const auto resources = in.object("resources")) read_resources(*resources, out.resources);
    if (const auto places = in.object("scheduling")) read_scheduling(*places, out.scheduling);
    if (const auto rollout = in.object("rollout")) read_rollout(*rollout, out.rollout);
    if (const auto gateway = in.object("gateway")) read_gateway(*gateway, out.gateway);
    if (const auto drain = in.object("drain")) {
      known(*drain, {"timeoutSeconds"});
      drain->integer("timeoutSeconds", out.drain.timeout_seconds);
    }
  }

  void read_model(const FieldReader& in, ModelSpec& out) const {
    known(in, {"name", "source"});
    in.string("name", out.name);
    in.require("source");
    const auto source = in.object("source");
    if (!source) return;
    known(*source, {"hostPath", "pvc", "http", "image"});
    if (source->find("hostPath") != nullptr)
      source->string("hostPath", out.source.host_path.emplace());
    if (const auto pvc = source->object("pvc")) {
      known(*pvc, {"claimName", "path"});
      pvc->string("claimName", out.source.pvc.emplace().claim_name);
      pvc->string("path", out.source.pvc->path);
    }
    if (const auto http = source->object("http")) {
      known(*http, {"url", "sha256"});
      http->string("url", out.source.http.emplace().url);
      http->string("sha256", out.source.http->sha256);
    }
    if (const auto image = source->object("image")) {
      known(*image, {"reference", "path"});
      image->string("reference", out.source.image.emplace().reference);
      image->string("path", out.source.image->path);
    }
  }

  void read_engine(const FieldReader& in, EngineSpec& out) const {
    known(in, {"image", "config"});
    in.string("image", out.image);
    const auto config = in.object("config");
    if (!config) return;
    known(*config, {"maxModelLen", "maxNumSeqs", "blockSize", "kvCacheDtype", "kvCacheMemory",
                    "gpuMemoryUtilization", "prefixCaching", "ttftTargetMs", "itlTargetMs",
                    "toolParser", "reasoningParser"});
    config->integer("maxModelLen", out.config.max_model_len);
    config->integer("maxNumSeqs", out.config.max_num_seqs);
    config->integer("blockSize", out.config.block_size);
    config->string("kvCacheDtype", out.config.kv_cache_dtype);
    config->quantity("kvCacheMemory", out.config.kv_cache_memory);
    config->number("gpuMemoryUtilization", out.config.gpu_memory_utilization);
    config->boolean("prefixCaching", out.config.prefix_caching);
    config->integer("ttftTargetMs", out.config.ttft_target_ms);
    config->integer("itlTargetMs", out.config.itl_target_ms);
    config->string("toolParser", out.config.tool_parser);
    config->string("reasoningParser", out.config.reasoning_parser);
  }

  void read_autoscaling(const FieldReader& in, std::optional<AutoscalingSpec>& out) const {
    known(in, {"minReplicas", "maxReplicas", "targetKvPressure", "idleSeconds", "behavior"});
    AutoscalingSpec& scaling = out.emplace();
    in.integer("minReplicas", scaling.min_replicas);
    in.require("maxReplicas");
    in.integer("maxReplicas", scaling.max_replicas);
    in.number("targetKvPressure", scaling.target_kv_pressure);
    in.integer("idleSeconds", scaling.idle_seconds);
    const auto behavior = in.object("behavior");
    if (!behavior) return;
    known(*behavior, {"scaleUp", "scaleDown"});
    read_rules(*behavior, "scaleUp", scaling.behavior.scale_up);
    read_rules(*behavior, "scaleDown", scaling.behavior.scale_down);
  }

  void read_rules(const FieldReader& behavior, std::string_view name,
                  std::optional<ScalingRules>& out) const {
    const auto in = behavior.object(name);
    if (!in) return;
    known(*in, {"stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance"});
    ScalingRules& rules = out.emplace();
    in->integer("stabilizationWindowSeconds", rules.stabilization_window_seconds);
    in->string("selectPolicy", rules.select_policy);
    in->quantity("tolerance", rules.tolerance);
    for (const FieldReader& entry : in->objects("policies", kScalingPoliciesMax)) {
      known(entry, {"type", "value", "periodSeconds"});
      ScalingPolicy& policy = rules.policies.emplace_back();
      entry.require("type");
      entry.string("type", policy.type);
      entry.require("value");
      entry.integer("value", policy.value);
      entry.require("periodSeconds");
      entry.integer("periodSeconds", policy.period_seconds);
    }
  }

  void read_resources(const FieldReader& in, ResourcesSpec& out) const {
    known(in, {"accelerator", "cpu", "memory"});
    if (const auto accelerator = in.object("accelerator")) {
      known(*accelerator, {"resourceName", "count"});
      accelerator->string("resourceName", out.accelerator.resource_name);
      accelerator->integer("count", out.accelerator.count);
    }
    in.quantity("cpu", out.cpu);
    in.quantity("memory", out.memory);
  }

  void read_scheduling(const FieldReader& in, SchedulingSpec& out) const {
    known(in, {"nodeSelector", "tolerations", "topologySpreadConstraints", "priorityClassName"});
    in.string_map("nodeSelector", out.node_selector);
    for (const FieldReader& entry : in.objects("tolerations", kListMax)) {
      known(entry, {"key", "operator", "value", "effect", "tolerationSeconds"});
      Toleration& toleration = out.tolerations.emplace_back();
      entry.string("key", toleration.key);
      entry.string("operator", toleration.op);
      entry.string("value", toleration.value);
      entry.string("effect", toleration.effect);
      entry.integer("tolerationSeconds", toleration.toleration_seconds);
    }
    for (const FieldReader& entry : in.objects("topologySpreadConstraints", kListMax)) {
      known(entry, {"maxSkew", "topologyKey", "whenUnsatisfiable"});
      TopologySpread& spread = out.topology_spread_constraints.emplace_back();
      entry.integer("maxSkew", spread.max_skew);
      entry.require("topologyKey");
      entry.string("topologyKey", spread.topology_key);
      entry.string("whenUnsatisfiable", spread.when_unsatisfiable);
    }
    in.string("priorityClassName", out.priority_class_name);
  }

  void read_rollout(const FieldReader& in, RolloutSpec& out) const {
    known(in, {"rings", "windows", "bake", "gates", "maxUnavailable", "paused",
               "progressDeadlineSeconds", "abort", "promote"});
    for (const FieldReader& entry : in.objects("rings", kRingsMax)) {
      known(entry, {"name", "size"});
      RingSpec& ring = out.rings.emplace_back();
      entry.require("name");
      entry.string("name", ring.name);
      entry.require("size");
      entry.int_or_percent("size", ring.size);
    }
    for (const FieldReader& entry : in.objects("windows", kWindowsMax)) {
      known(entry, {"days", "start", "end"});
      WindowSpec& window = out.windows.emplace_back();
      entry.strings("days", kDaysMax, window.days);
      entry.require("start");
      entry.string("start", window.start);
      entry.require("end");
      entry.string("end", window.end);
    }
    if (const auto bake = in.object("bake")) {
      known(*bake, {"seconds", "minRequests"});
      bake->integer("seconds", out.bake.seconds);
      bake->integer("minRequests", out.bake.min_requests);
    }
    if (const auto gates = in.object("gates")) read_gates(*gates, out.gates);
    in.int_or_percent("maxUnavailable", out.max_unavailable);
    in.boolean("paused", out.paused);
    in.integer("progressDeadlineSeconds", out.progress_deadline_seconds);
    in.string("abort", out.abort);
    in.string("promote", out.promote);
  }

  void read_gates(const FieldReader& in, GatesSpec& out) const {
    known(in, {"maxErrorRatio", "maxTtftP95Ratio", "maxItlP95Ratio", "goldenPrompts"});
    in.number("maxErrorRatio", out.max_error_ratio);
    in.number("maxTtftP95Ratio", out.max_ttft_p95_ratio);
    in.number("maxItlP95Ratio", out.max_itl_p95_ratio);
    if (const auto golden = in.object("goldenPrompts")) {
      known(*golden, {"configMap"});
      golden->string("configMap", out.golden_prompts_config_map);
    }
  }

  void read_gateway(const FieldReader& in, GatewaySpec& out) const {
    known(in, {"authSecret", "limits"});
    in.string("authSecret", out.auth_secret);
    if (const auto limits = in.object("limits")) {
      known(*limits, {"maxQueuedTokens", "requestsPerMinute", "tokensPerMinute"});
      limits->integer("maxQueuedTokens", out.limits.max_queued_tokens);
      limits->integer("requestsPerMinute", out.limits.requests_per_minute);
      limits->integer("tokensPerMinute", out.limits.tokens_per_minute);
    }
  }

  UnknownFields unknown_;
  Problems& problems_;
};

}  // namespace

ModelServing model_serving_from_json(const Json& json, UnknownFields unknown, Problems& problems) {
  return Decoder(unknown, problems).read(json);
}

}  // namespace kantha::serving
