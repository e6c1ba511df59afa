#include "operator/serving/cluster_revision.h"

#include <utility>

#include "base/digest.h"
#include "base/json.h"
#include "operator/serving/children.h"
#include "operator/serving/quantity.h"

namespace kantha::serving {
namespace {

/// Raised when render_pod changes in a way that running pods must get: it replaces every pod of
/// every object, within their budgets.
constexpr int kPodShape = 1;

OrderedJson source_json(const ModelSource& source) {
  if (source.host_path) return {{"hostPath", *source.host_path}};
  if (source.pvc) return {{"pvc", source.pvc->claim_name}};
  if (source.image) return {{"image", source.image->reference}};
  if (source.http) return {{"sha256", source.http->sha256}};
  return OrderedJson::object();
}

/// What the pods of a fetched source are told on top of its digest.
OrderedJson fetch_json(const HttpSource& http, const ClusterSettings& settings) {
  return {{"url", http.url},
          {"cache", settings.model_cache_host_path},
          {"quota", settings.model_cache_quota_bytes}};
}

OrderedJson resources_json(const ResourcesSpec& resources) {
  OrderedJson out;
  out["cpu"] = resources.cpu.empty() ? 0 : quantity_milli(resources.cpu).value();
  out["memory"] = resources.memory.empty() ? 0 : quantity_milli(resources.memory).value();
  if (resources.accelerator.count > 0) {
    out[resources.accelerator.resource_name] = resources.accelerator.count;
  }
  return out;
}

OrderedJson scheduling_json(const SchedulingSpec& scheduling) {
  OrderedJson out;
  out["selector"] = scheduling.node_selector;
  out["tolerations"] = OrderedJson::array();
  for (const Toleration& entry : scheduling.tolerations) {
    out["tolerations"].push_back({entry.key, entry.op.empty() ? "Equal" : entry.op, entry.value,
                                  entry.effect, entry.toleration_seconds.value_or(-1)});
  }
  out["spread"] = OrderedJson::array();
  for (const TopologySpread& entry : scheduling.topology_spread_constraints) {
    out["spread"].push_back({entry.max_skew, entry.topology_key, entry.when_unsatisfiable});
  }
  out["priority"] = scheduling.priority_class_name;
  return out;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

const std::string& engine_image_of(const ModelServing& serving, const ClusterSettings& settings) {
  const std::string& own = serving.spec.engine.image;
  return own.empty() ? settings.engine_image : own;
}

std::string model_path_of(const ModelSource& source) {
  if (source.host_path) return "/models/" + base_name(*source.host_path);
  if (source.pvc) return "/models/" + source.pvc->path;
  if (source.image) return "/models/" + source.image->path;
  if (source.http) return "/models/" + source.http->sha256;
  return {};
}

std::string cluster_engine_config(const ModelServing& serving) {
  return engine_config_json(serving, {model_path_of(serving.spec.model.source), kEngineSocket});
}

Revision cluster_revision_of(const ModelServing& serving, const ClusterSettings& settings) {
  OrderedJson pod;
  pod["shape"] = kPodShape;
  pod["noded"] = settings.noded_image;
  pod["pullPolicy"] = settings.image_pull_policy;
  pod["pullSecrets"] = settings.image_pull_secrets;
  pod["resources"] = resources_json(serving.spec.resources);
  pod["scheduling"] = scheduling_json(serving.spec.scheduling);
  pod["source"] = source_json(serving.spec.model.source);
  if (const auto& http = serving.spec.model.source.http) pod["fetch"] = fetch_json(*http, settings);
  const GatewaySpec& gateway = serving.spec.gateway;
  pod["keys"] = gateway.auth_secret.empty() ? "" : gateway.auth_secret + "/" + kApiKeysFile;
  // Only where there are some, so that pods of objects without stay as they are.
  if (gateway.limits.requests_per_minute > 0 || gateway.limits.tokens_per_minute > 0) {
    pod["rates"] = {gateway.limits.requests_per_minute, gateway.limits.tokens_per_minute};
  }
  const std::string& golden = serving.spec.rollout.gates.golden_prompts_config_map;
  if (!golden.empty()) pod["golden"] = golden;
  pod["name"] = serving.served_name();
  pod["drain"] = serving.spec.drain.timeout_seconds;
  OrderedJson whole;
  whole["image"] = engine_image_of(serving, settings);
  whole["config"] = cluster_engine_config(serving);
  whole["source"] = source_json(serving.spec.model.source);
  return {sha256_hex(dump_json(whole)), sha256_hex(dump_json(pod))};
}

}  // namespace kantha::serving
