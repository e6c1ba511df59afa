#include "operator/serving/render_pod.h"

#include <string>

#include "base/check.h"
#include "operator/serving/children.h"
#include "operator/serving/quantity.h"
#include "operator/serving/render_pod_volumes.h"

namespace kantha::serving {
namespace {

constexpr int kUser = 65532;
/// What noded gets on top of the drain before the kubelet kills it.
constexpr std::int64_t kGraceMarginSeconds = 30;

OrderedJson field_env(const char* name, const char* field) {
  OrderedJson out;
  out["name"] = name;
  out["valueFrom"]["fieldRef"]["fieldPath"] = field;
  return out;
}

OrderedJson probe(const char* path, int period, int timeout, int threshold) {
  OrderedJson out;
  out["httpGet"]["path"] = path;
  out["httpGet"]["port"] = "api";
  out["periodSeconds"] = period;
  out["timeoutSeconds"] = timeout;
  out["failureThreshold"] = threshold;
  return out;
}

OrderedJson port(const char* name, int number) {
  return {{"name", name}, {"containerPort", number}, {"protocol", "TCP"}};
}

/// "$(" is expanded by Kubernetes, so a dollar of the user's is doubled.
std::string literal(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '$' ? "$$" : std::string(1, c);
  return out;
}

void add_fetch_args(const HttpSource& http, const ClusterSettings& settings, OrderedJson& out) {
  out.push_back("--model-url=" + literal(http.url));
  out.push_back("--model-sha256=" + http.sha256);
  out.push_back("--model-cache=/models");
  if (settings.model_cache_quota_bytes > 0 && !settings.model_cache_host_path.empty()) {
    out.push_back("--model-cache-quota=" + std::to_string(settings.model_cache_quota_bytes));
  }
}

/// maxQueuedTokens is not among them: noded reads it from the engine's configuration.
void add_gate_args(const GatewaySpec& gateway, OrderedJson& out) {
  const auto add_rate = [&](const char* flag, std::int64_t rate) {
    if (rate > 0) out.push_back(flag + std::to_string(rate));
  };
  if (!gateway.auth_secret.empty()) {
    out.push_back(std::string("--api-keys-file=/etc/kantha/keys/") + kApiKeysFile);
  }
  add_rate("--requests-per-minute=", gateway.limits.requests_per_minute);
  add_rate("--tokens-per-minute=", gateway.limits.tokens_per_minute);
}

OrderedJson noded_args(const ModelServing& serving, const ClusterSettings& settings) {
  OrderedJson out = OrderedJson::array();
  out.push_back("--pod=$(POD_NAME)");
  out.push_back("--model=" + literal(serving.served_name()));
  out.push_back("--listen=0.0.0.0:" + std::to_string(kApiPort));
  out.push_back("--admin-listen=0.0.0.0:" + std::to_string(kAdminPort));
  out.push_back("--admin-token-file=/etc/kantha/admin/token");
  out.push_back("--engine-external");
  out.push_back("--engine-config-source=/etc/kantha/pod/engine.json");
  out.push_back("--engine-config=/run/kantha/engine.json");
  out.push_back(std::string("--engine-socket=") + kEngineSocket);
  out.push_back("--drain-timeout-ms=" + std::to_string(serving.spec.drain.timeout_seconds * 1000));
  if (const auto& http = serving.spec.model.source.http) add_fetch_args(*http, settings, out);
  if (!serving.spec.rollout.gates.golden_prompts_config_map.empty()) {
    out.push_back(std::string("--golden-prompts=/etc/kantha/golden/") + kGoldenFile);
  }
  add_gate_args(serving.spec.gateway, out);
  return out;
}

void set_pull_policy(OrderedJson& container, const ClusterSettings& settings) {
  if (!settings.image_pull_policy.empty()) {
    container["imagePullPolicy"] = settings.image_pull_policy;
  }
}

OrderedJson noded_container(const ModelServing& serving, const ClusterSettings& settings) {
  OrderedJson out;
  out["name"] = kContainerNoded;
  out["image"] = settings.noded_image;
  set_pull_policy(out, settings);
  out["args"] = noded_args(serving, settings);
  out["env"] = OrderedJson::array({field_env("POD_NAME", "metadata.name"),
                                   field_env("POD_NAMESPACE", "metadata.namespace"),
                                   field_env("POD_IP", "status.podIP")});
  out["ports"] = OrderedJson::array({port("api", kApiPort), port("admin", kAdminPort)});
  // Ten minutes to come up, or twelve hours with a download, which noded gives up itself when it
  // stalls; after that the kubelet asks every two seconds who may be routed to.
  out["startupProbe"] = probe("/startup", 2, 2, serving.spec.model.source.http ? 21'600 : 300);
  out["readinessProbe"] = probe("/ready", 2, 2, 3);
  out["livenessProbe"] = probe("/live", 10, 5, 6);
  out["resources"]["requests"] = {{"cpu", "50m"}, {"memory", "64Mi"}};
  out["resources"]["limits"] = {{"memory", "512Mi"}};
  out["securityContext"] = restricted_container_security();
  out["volumeMounts"] = noded_mounts(serving);
  return out;
}

OrderedJson engine_resources(const ResourcesSpec& resources) {
  OrderedJson requests = OrderedJson::object();
  OrderedJson limits = OrderedJson::object();
  if (!resources.cpu.empty()) requests["cpu"] = resources.cpu;
  if (!resources.memory.empty()) requests["memory"] = limits["memory"] = resources.memory;
  if (resources.accelerator.count > 0) {
    const std::string count = std::to_string(resources.accelerator.count);
    requests[resources.accelerator.resource_name] = count;
    limits[resources.accelerator.resource_name] = count;
  }
  OrderedJson out = OrderedJson::object();
  if (!requests.empty()) out["requests"] = std::move(requests);
  if (!limits.empty()) out["limits"] = std::move(limits);
  return out;
}

OrderedJson engine_container(const ModelServing& serving, const ClusterSettings& settings) {
  OrderedJson out;
  out["name"] = kContainerEngine;
  out["image"] = engine_image_of(serving, settings);
  set_pull_policy(out, settings);
  out["args"] = OrderedJson::array({"--supervise", "--config=/run/kantha/engine.json"});
  out["resources"] = engine_resources(serving.spec.resources);
  out["securityContext"] = restricted_container_security();
  out["volumeMounts"] = engine_mounts(serving);
  return out;
}

OrderedJson toleration_json(const Toleration& entry) {
  OrderedJson out;
  if (!entry.key.empty()) out["key"] = entry.key;
  out["operator"] = entry.op.empty() ? "Equal" : entry.op;
  if (!entry.value.empty()) out["value"] = entry.value;
  if (!entry.effect.empty()) out["effect"] = entry.effect;
  if (entry.toleration_seconds) out["tolerationSeconds"] = *entry.toleration_seconds;
  return out;
}

OrderedJson spread_json(const ModelServing& serving, const TopologySpread& entry) {
  OrderedJson out;
  out["maxSkew"] = entry.max_skew;
  out["topologyKey"] = entry.topology_key;
  out["whenUnsatisfiable"] = entry.when_unsatisfiable;
  out["labelSelector"]["matchLabels"] = pod_selector(serving.metadata.name);
  return out;
}

void set_scheduling(const ModelServing& serving, OrderedJson& spec) {
  const SchedulingSpec& scheduling = serving.spec.scheduling;
  if (!scheduling.node_selector.empty()) spec["nodeSelector"] = scheduling.node_selector;
  for (const Toleration& entry : scheduling.tolerations) {
    spec["tolerations"].push_back(toleration_json(entry));
  }
  for (const TopologySpread& entry : scheduling.topology_spread_constraints) {
    spec["topologySpreadConstraints"].push_back(spread_json(serving, entry));
  }
  if (scheduling.topology_spread_constraints.empty()) {
    spec["topologySpreadConstraints"].push_back(
        spread_json(serving, {1, "kubernetes.io/hostname", "ScheduleAnyway"}));
  }
  if (!scheduling.priority_class_name.empty()) {
    spec["priorityClassName"] = scheduling.priority_class_name;
  }
}

OrderedJson pod_spec(const ModelServing& serving, const ClusterSettings& settings,
                     const std::string& pod) {
  OrderedJson spec;
  spec["serviceAccountName"] = service_account_name(serving.metadata.name);
  spec["automountServiceAccountToken"] = false;
  spec["enableServiceLinks"] = false;
  spec["restartPolicy"] = "Always";
  spec["terminationGracePeriodSeconds"] = serving.spec.drain.timeout_seconds + kGraceMarginSeconds;
  // With the headless Service, each pod has a DNS name of its own.
  spec["hostname"] = pod;
  spec["subdomain"] = headless_service_name(serving.metadata.name);
  spec["securityContext"] = restricted_pod_security();
  for (const std::string& secret : settings.image_pull_secrets) {
    spec["imagePullSecrets"].push_back({{"name", secret}});
  }
  set_scheduling(serving, spec);
  spec["containers"] =
      OrderedJson::array({noded_container(serving, settings), engine_container(serving, settings)});
  spec["volumes"] = pod_volumes(serving, settings);
  return spec;
}

OrderedJson patch_op(const char* op, std::string path, OrderedJson value) {
  return {{"op", op}, {"path", std::move(path)}, {"value", std::move(value)}};
}

/// A key of a map as one step of a JSON pointer.
std::string pointer_step(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

/// How often the engine has started again so far; -1: it has not started yet.
std::string restarts_text(const PodObject& pod) {
  const ContainerState& engine = pod.engine;
  const bool has_started = engine.running || engine.exit_code || engine.restarts > 0;
  return std::to_string(has_started ? engine.restarts : -1);
}

std::string annotation_path(std::string_view key) {
  return "/metadata/annotations/" + pointer_step(key);
}

}  // namespace

OrderedJson restricted_pod_security() {
  OrderedJson out;
  out["runAsNonRoot"] = true;
  out["runAsUser"] = kUser;
  out["runAsGroup"] = kUser;
  out["fsGroup"] = kUser;
  out["seccompProfile"]["type"] = "RuntimeDefault";
  return out;
}

OrderedJson restricted_container_security() {
  OrderedJson out;
  out["allowPrivilegeEscalation"] = false;
  out["readOnlyRootFilesystem"] = true;
  out["capabilities"]["drop"] = OrderedJson::array({"ALL"});
  return out;
}

OrderedJson render_pod(const ClusterServing& owner, const ClusterSettings& settings,
                       const Revision& target, std::int64_t ordinal) {
  const ModelServing& serving = owner.serving;
  const std::string pod = serving.metadata.name + "-" + std::to_string(ordinal);
  OrderedJson out;
  out["apiVersion"] = "v1";
  out["kind"] = "Pod";
  OrderedJson& metadata = out["metadata"] = child_metadata(owner, pod);
  metadata["labels"][kLabelRole] = kRoleReplica;
  metadata["labels"][kLabelOrdinal] = std::to_string(ordinal);
  metadata["labels"][kLabelRevision] = short_revision(target.whole);
  OrderedJson& annotations = metadata["annotations"];
  annotations[kAnnotationEngineConfig] = cluster_engine_config(serving);
  annotations[kAnnotationTold] = target.whole;
  annotations[kAnnotationBorn] = target.whole;
  annotations[kAnnotationPod] = target.pod;
  annotations[kAnnotationSafeToEvict] = "false";
  annotations[kAnnotationDoNotDisrupt] = "true";
  out["spec"] = pod_spec(serving, settings, pod);
  return out;
}

OrderedJson render_pod_retell(const ClusterServing& owner, const ClusterSettings& settings,
                              const Revision& target, const PodObject& pod) {
  CHECK(pod.engine_index >= 0, "the pod has an engine");
  const std::string container = "/spec/containers/" + std::to_string(pod.engine_index);
  const std::string& image = engine_image_of(owner.serving, settings);
  OrderedJson out = OrderedJson::array();
  out.push_back(patch_op("test", "/metadata/uid", pod.uid));
  if (image != pod.engine_image) {
    out.push_back(patch_op("test", container + "/name", kContainerEngine));
    out.push_back(patch_op("replace", container + "/image", image));
    out.push_back(patch_op("add", annotation_path(kAnnotationImageTold), restarts_text(pod)));
  }
  out.push_back(patch_op("add", annotation_path(kAnnotationEngineConfig),
                         cluster_engine_config(owner.serving)));
  out.push_back(patch_op("add", annotation_path(kAnnotationRetold), pod.told_revision));
  out.push_back(patch_op("add", annotation_path(kAnnotationToldAt), restarts_text(pod)));
  out.push_back(patch_op("add", annotation_path(kAnnotationVerified), ""));
  out.push_back(patch_op("add", annotation_path(kAnnotationTold), target.whole));
  out.push_back(patch_op("add", "/metadata/labels/" + pointer_step(kLabelRevision),
                         short_revision(target.whole)));
  return out;
}

OrderedJson render_pod_confirm(const PodObject& pod) {
  OrderedJson out = OrderedJson::array();
  out.push_back(patch_op("test", "/metadata/uid", pod.uid));
  out.push_back(patch_op("test", annotation_path(kAnnotationTold), pod.told_revision));
  out.push_back(patch_op("add", annotation_path(kAnnotationVerified), pod.told_revision));
  return out;
}

}  // namespace kantha::serving
