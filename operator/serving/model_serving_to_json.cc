#include "operator/serving/model_serving_to_json.h"

#include "operator/serving/quantity.h"

namespace kantha::serving {
namespace {

Json int_or_percent_json(const IntOrPercent& value) {
  return value.percent ? Json(int_or_percent_text(value)) : Json(value.value);
}

Json source_json(const ModelSource& source) {
  Json out = Json::object();
  if (source.host_path) out["hostPath"] = *source.host_path;
  if (source.pvc) out["pvc"] = {{"claimName", source.pvc->claim_name}, {"path", source.pvc->path}};
  if (source.http) out["http"] = {{"url", source.http->url}, {"sha256", source.http->sha256}};
  if (source.image) {
    out["image"] = {{"reference", source.image->reference}, {"path", source.image->path}};
  }
  return out;
}

Json engine_json(const EngineSpec& engine) {
  const EngineConfig& config = engine.config;
  Json out = {{"maxModelLen", config.max_model_len},
              {"maxNumSeqs", config.max_num_seqs},
              {"blockSize", config.block_size},
              {"kvCacheDtype", config.kv_cache_dtype},
              {"gpuMemoryUtilization", config.gpu_memory_utilization},
              {"prefixCaching", config.prefix_caching},
              {"ttftTargetMs", config.ttft_target_ms},
              {"itlTargetMs", config.itl_target_ms}};
  // Only where they are chosen, so that what was written before stays the same.
  if (config.tool_parser != EngineConfig().tool_parser) out["toolParser"] = config.tool_parser;
  if (config.reasoning_parser != EngineConfig().reasoning_parser) {
    out["reasoningParser"] = config.reasoning_parser;
  }
  if (!config.kv_cache_memory.empty()) out["kvCacheMemory"] = config.kv_cache_memory;
  return {{"image", engine.image}, {"config", out}};
}

Json resources_json(const ResourcesSpec& resources) {
  Json out = {{"accelerator",
               {{"resourceName", resources.accelerator.resource_name},
                {"count", resources.accelerator.count}}}};
  if (!resources.cpu.empty()) out["cpu"] = resources.cpu;
  if (!resources.memory.empty()) out["memory"] = resources.memory;
  return out;
}

Json toleration_json(const Toleration& toleration) {
  Json out = Json::object();
  if (!toleration.key.empty()) out["key"] = toleration.key;
  if (!toleration.op.empty()) out["operator"] = toleration.op;
  if (!toleration.value.empty()) out["value"] = toleration.value;
  if (!toleration.effect.empty()) out["effect"] = toleration.effect;
  if (toleration.toleration_seconds) out["tolerationSeconds"] = *toleration.toleration_seconds;
  return out;
}

Json scheduling_json(const SchedulingSpec& scheduling) {
  Json tolerations = Json::array();
  for (const Toleration& entry : scheduling.tolerations) {
    tolerations.push_back(toleration_json(entry));
  }
  Json spreads = Json::array();
  for (const TopologySpread& entry : scheduling.topology_spread_constraints) {
    spreads.push_back({{"maxSkew", entry.max_skew},
                       {"topologyKey", entry.topology_key},
                       {"whenUnsatisfiable", entry.when_unsatisfiable}});
  }
  return {{"nodeSelector", scheduling.node_selector},
          {"tolerations", tolerations},
          {"topologySpreadConstraints", spreads},
          {"priorityClassName", scheduling.priority_class_name}};
}

Json rollout_json(const RolloutSpec& rollout) {
  Json rings = Json::array();
  for (const RingSpec& ring : rollout.rings) {
    rings.push_back({{"name", ring.name}, {"size", int_or_percent_json(ring.size)}});
  }
  Json windows = Json::array();
  for (const WindowSpec& window : rollout.windows) {
    windows.push_back({{"days", window.days}, {"start", window.start}, {"end", window.end}});
  }
  const GatesSpec& gates = rollout.gates;
  return {{"rings", rings},
          {"windows", windows},
          {"bake", {{"seconds", rollout.bake.seconds}, {"minRequests", rollout.bake.min_requests}}},
          {"gates",
           {{"maxErrorRatio", gates.max_error_ratio},
            {"maxTtftP95Ratio", gates.max_ttft_p95_ratio},
            {"maxItlP95Ratio", gates.max_itl_p95_ratio},
            {"goldenPrompts", {{"configMap", gates.golden_prompts_config_map}}}}},
          {"maxUnavailable", int_or_percent_json(rollout.max_unavailable)},
          {"paused", rollout.paused},
          {"progressDeadlineSeconds", rollout.progress_deadline_seconds},
          {"abort", rollout.abort},
          {"promote", rollout.promote}};
}

Json gateway_json(const GatewaySpec& gateway) {
  return {{"authSecret", gateway.auth_secret},
          {"limits",
           {{"maxQueuedTokens", gateway.limits.max_queued_tokens},
            {"requestsPerMinute", gateway.limits.requests_per_minute},
            {"tokensPerMinute", gateway.limits.tokens_per_minute}}}};
}

Json metadata_json(const ObjectMeta& metadata) {
  Json out = {{"name", metadata.name}};
  if (!metadata.name_space.empty()) out["namespace"] = metadata.name_space;
  if (!metadata.labels.empty()) out["labels"] = metadata.labels;
  if (!metadata.annotations.empty()) out["annotations"] = metadata.annotations;
  if (metadata.generation != 0) out["generation"] = metadata.generation;
  return out;
}

Json rules_json(const ScalingRules& rules) {
  Json out = Json::object();
  if (rules.stabilization_window_seconds) {
    out["stabilizationWindowSeconds"] = *rules.stabilization_window_seconds;
  }
  if (!rules.select_policy.empty()) out["selectPolicy"] = rules.select_policy;
  if (!rules.tolerance.empty()) out["tolerance"] = rules.tolerance;
  for (const ScalingPolicy& policy : rules.policies) {
    out["policies"].push_back(
        {{"type", policy.type}, {"value", policy.value}, {"periodSeconds", policy.period_seconds}});
  }
  return out;
}

}  // namespace

Json behavior_json(const ScalingBehavior& behavior) {
  Json out = Json::object();
  if (behavior.scale_up) out["scaleUp"] = rules_json(*behavior.scale_up);
  if (behavior.scale_down) out["scaleDown"] = rules_json(*behavior.scale_down);
  return out;
}

Json to_json(const ModelServing& serving) {
  const ModelServingSpec& spec = serving.spec;
  Json out = {{"model", {{"name", spec.model.name}, {"source", source_json(spec.model.source)}}},
              {"engine", engine_json(spec.engine)},
              {"resources", resources_json(spec.resources)},
              {"scheduling", scheduling_json(spec.scheduling)},
              {"rollout", rollout_json(spec.rollout)},
              {"gateway", gateway_json(spec.gateway)},
              {"drain", {{"timeoutSeconds", spec.drain.timeout_seconds}}}};
  if (spec.replicas) out["replicas"] = *spec.replicas;
  if (spec.autoscaling) {
    out["autoscaling"] = {{"minReplicas", spec.autoscaling->min_replicas},
                          {"maxReplicas", spec.autoscaling->max_replicas},
                          {"targetKvPressure", spec.autoscaling->target_kv_pressure},
                          {"idleSeconds", spec.autoscaling->idle_seconds}};
    Json behavior = behavior_json(spec.autoscaling->behavior);
    if (!behavior.empty()) out["autoscaling"]["behavior"] = std::move(behavior);
  }
  return {{"apiVersion", kApiVersion},
          {"kind", kKind},
          {"metadata", metadata_json(serving.metadata)},
          {"spec", out}};
}

}  // namespace kantha::serving
