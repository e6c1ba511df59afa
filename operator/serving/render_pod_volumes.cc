#include "operator/serving/render_pod_volumes.h"

#include <string>
#include <utility>

#include "operator/serving/children.h"
#include "operator/serving/cluster_revision.h"

namespace kantha::serving {
namespace {

/// Read by the group that every container runs in (fsGroup), by nobody else.
constexpr int kSecretMode = 0440;

OrderedJson mount(const char* name, std::string path, bool read_only) {
  OrderedJson out;
  out["name"] = name;
  out["mountPath"] = std::move(path);
  if (read_only) out["readOnly"] = true;
  return out;
}

OrderedJson pod_info_volume() {
  OrderedJson item;
  item["path"] = "engine.json";
  item["fieldRef"]["fieldPath"] =
      std::string("metadata.annotations['") + kAnnotationEngineConfig + "']";
  OrderedJson out;
  out["name"] = "pod-info";
  out["downwardAPI"]["items"] = OrderedJson::array({std::move(item)});
  return out;
}

OrderedJson secret_volume(const char* name, const std::string& secret) {
  OrderedJson out;
  out["name"] = name;
  out["secret"]["secretName"] = secret;
  out["secret"]["defaultMode"] = kSecretMode;
  return out;
}

OrderedJson model_volume(const ModelSource& source, const ClusterSettings& settings) {
  OrderedJson out;
  out["name"] = "model";
  if (source.host_path) {
    out["hostPath"] = {{"path", *source.host_path}, {"type", "File"}};
  } else if (source.pvc) {
    out["persistentVolumeClaim"] = {{"claimName", source.pvc->claim_name}, {"readOnly", true}};
  } else if (source.image) {
    out["image"]["reference"] = source.image->reference;
  } else if (!settings.model_cache_host_path.empty()) {
    // Not made by the kubelet, whose folders belong to root: noded runs as another user.
    out["hostPath"] = {{"path", settings.model_cache_host_path}, {"type", "Directory"}};
  } else {
    out["emptyDir"] = OrderedJson::object();
  }
  return out;
}

}  // namespace

OrderedJson pod_volumes(const ModelServing& serving, const ClusterSettings& settings) {
  OrderedJson out = OrderedJson::array();
  OrderedJson run;
  run["name"] = "run";
  run["emptyDir"] = {{"medium", "Memory"}, {"sizeLimit", "16Mi"}};
  out.push_back(std::move(run));
  out.push_back(pod_info_volume());
  out.push_back(secret_volume("admin", admin_secret_name(serving.metadata.name)));
  if (!serving.spec.gateway.auth_secret.empty()) {
    out.push_back(secret_volume("api-keys", serving.spec.gateway.auth_secret));
  }
  if (const std::string& golden = serving.spec.rollout.gates.golden_prompts_config_map;
      !golden.empty()) {
    // Without it pods start all the same, and noded says that there are no prompts.
    OrderedJson volume;
    volume["name"] = "golden";
    volume["configMap"] = {{"name", golden}, {"optional", true}};
    out.push_back(std::move(volume));
  }
  OrderedJson tmp;
  tmp["name"] = "tmp";
  tmp["emptyDir"] = OrderedJson::object();
  out.push_back(std::move(tmp));
  out.push_back(model_volume(serving.spec.model.source, settings));
  return out;
}

OrderedJson noded_mounts(const ModelServing& serving) {
  OrderedJson out = OrderedJson::array();
  out.push_back(mount("run", "/run/kantha", false));
  out.push_back(mount("pod-info", "/etc/kantha/pod", true));
  out.push_back(mount("admin", "/etc/kantha/admin", true));
  if (!serving.spec.gateway.auth_secret.empty()) {
    out.push_back(mount("api-keys", "/etc/kantha/keys", true));
  }
  if (!serving.spec.rollout.gates.golden_prompts_config_map.empty()) {
    out.push_back(mount("golden", "/etc/kantha/golden", true));
  }
  if (serving.spec.model.source.http) out.push_back(mount("model", "/models", false));
  return out;
}

OrderedJson engine_mounts(const ModelServing& serving) {
  const ModelSource& source = serving.spec.model.source;
  // A hostPath of type File is mounted as that one file; the other sources are whole folders.
  const std::string models = source.host_path ? model_path_of(source) : "/models";
  OrderedJson out = OrderedJson::array();
  out.push_back(mount("run", "/run/kantha", false));
  out.push_back(mount("tmp", "/tmp", false));
  out.push_back(mount("model", models, true));
  return out;
}

}  // namespace kantha::serving
