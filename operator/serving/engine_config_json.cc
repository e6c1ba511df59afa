#include "operator/serving/engine_config_json.h"

#include "base/check.h"
#include "base/digest.h"
#include "operator/serving/quantity.h"

namespace kantha::serving {

std::string engine_config_json(const ModelServing& serving, const EnginePlacement& placement) {
  const EngineConfig& config = serving.spec.engine.config;
  OrderedJson engine;
  if (config.max_model_len > 0) engine["maxModelLen"] = config.max_model_len;
  engine["maxNumSeqs"] = config.max_num_seqs;
  engine["blockSize"] = config.block_size;
  engine["kvCacheDtype"] = config.kv_cache_dtype;
  if (!config.kv_cache_memory.empty()) {
    const Result<std::int64_t> bytes = quantity_units(config.kv_cache_memory);
    CHECK(bytes.ok(), "the spec is valid");
    engine["kvCacheMemory"] = *bytes;
  }
  engine["gpuMemoryUtilization"] = config.gpu_memory_utilization;
  engine["prefixCaching"] = config.prefix_caching;
  // Left out where they say what the engine does anyway, so that older files keep their digest.
  if (config.ttft_target_ms != EngineConfig().ttft_target_ms) {
    engine["ttftTargetMs"] = config.ttft_target_ms;
  }
  if (config.itl_target_ms != 0) engine["itlTargetMs"] = config.itl_target_ms;
  if (config.tool_parser != EngineConfig().tool_parser) engine["toolParser"] = config.tool_parser;
  if (config.reasoning_parser != EngineConfig().reasoning_parser) {
    engine["reasoningParser"] = config.reasoning_parser;
  }
  if (!serving.spec.resources.cpu.empty()) {
    const Result<std::int64_t> threads = quantity_units(serving.spec.resources.cpu);
    CHECK(threads.ok(), "the spec is valid");
    engine["threads"] = *threads;
  }
  if (serving.spec.gateway.limits.max_queued_tokens > 0) {
    engine["maxQueuedTokens"] = serving.spec.gateway.limits.max_queued_tokens;
  }
  OrderedJson out;
  out["model"]["path"] = placement.model_path;
  out["model"]["name"] = serving.served_name();
  out["engine"] = std::move(engine);
  out["listen"] = OrderedJson::array({"unix:" + placement.socket_path});
  out["drain"]["timeoutSeconds"] = serving.spec.drain.timeout_seconds;
  return dump_json(out) + "\n";
}

std::string engine_config_hash(const std::string& config_json) { return sha256_hex(config_json); }

Revision revision_of(const ModelServing& serving, const std::string& model_path) {
  OrderedJson pod;
  pod["image"] = serving.spec.engine.image;
  pod["name"] = serving.served_name();
  pod["drain"] = serving.spec.drain.timeout_seconds;
  if (const auto& http = serving.spec.model.source.http) pod["fetch"] = {http->url, http->sha256};
  const GatewaySpec& gateway = serving.spec.gateway;
  pod["keys"] = gateway.auth_secret;
  pod["rates"] = {gateway.limits.requests_per_minute, gateway.limits.tokens_per_minute};
  // Only where there is one, so that pods of objects without stay as they are.
  const std::string& golden = serving.spec.rollout.gates.golden_prompts_config_map;
  if (!golden.empty()) pod["golden"] = golden;
  Revision out;
  out.pod = sha256_hex(dump_json(pod));
  out.whole = sha256_hex(out.pod + engine_config_json(serving, {model_path, "engine.sock"}));
  return out;
}

std::string short_revision(const std::string& digest) { return "r-" + digest.substr(0, 10); }

}  // namespace kantha::serving
