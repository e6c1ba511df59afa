#pragma once

#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "operator/serving/cluster_object.h"
#include "operator/serving/cluster_revision.h"
#include "operator/serving/pod_object.h"
#include "operator/serving/render_pod.h"

/// Objects as an API server would hold them, for the tests of the cluster world.
namespace kantha::serving {

inline WallTime sample_time(std::int64_t second = 0) {
  return WallTime(std::chrono::seconds(1'796'000'000 + second));
}

/// A small ModelServing "m" with two replicas.
inline Json sample_json(const Json& spec = Json::object()) {
  Json out = {
      {"apiVersion", kApiVersion},
      {"kind", kKind},
      {"metadata",
       {{"name", "m"},
        {"namespace", "apps"},
        {"uid", "uid-m"},
        {"resourceVersion", "7"},
        {"generation", 3},
        {"finalizers", {"serving.kantha.dev/drain"}}}},
      {"spec", {{"model", {{"source", {{"hostPath", "/models/m.gguf"}}}}}, {"replicas", 2}}}};
  out["spec"].merge_patch(spec);
  return out;
}

inline ClusterServing sample_owner(const Json& spec = Json::object()) {
  return cluster_serving_from_json(sample_json(spec)).value();
}

inline ClusterSettings sample_settings() {
  return {"localhost/kantha-noded:dev", "localhost/kantha-engine:dev", "IfNotPresent"};
}

/// The pod that the operator makes for an ordinal, as the API server then holds it: Running, Ready.
inline Json live_pod(const ClusterServing& owner, const ClusterSettings& settings,
                     std::int64_t ordinal) {
  const Revision target = cluster_revision_of(owner.serving, settings);
  Json out = Json::parse(dump_json(render_pod(owner, settings, target, ordinal)));
  out["metadata"]["uid"] = "uid-pod-" + std::to_string(ordinal);
  out["metadata"]["resourceVersion"] = "11";
  out["metadata"]["creationTimestamp"] = "2026-11-30T00:50:00Z";
  const auto container = [](const Json& spec) {
    return Json{{"name", spec["name"]},
                {"image", spec["image"]},
                {"imageID", "sha256:0123"},
                {"ready", true},
                {"restartCount", 0},
                {"state", {{"running", {{"startedAt", "2026-11-30T00:50:02Z"}}}}}};
  };
  out["status"] = {
      {"phase", "Running"},
      {"podIP", "10.0.0.5"},
      {"conditions",
       {{{"type", "PodScheduled"}, {"status", "True"}},
        {{"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", "2026-11-30T00:50:10Z"}}}},
      {"containerStatuses",
       {container(out["spec"]["containers"][0]), container(out["spec"]["containers"][1])}}};
  out["spec"]["nodeName"] = "node-a";
  return out;
}

inline PodObject decoded(const Json& pod) { return pod_object_from_json(pod).value(); }

}  // namespace kantha::serving
