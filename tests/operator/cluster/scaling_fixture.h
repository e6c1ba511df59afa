#pragma once

#include "operator/cluster/pod_samples.h"
#include "operator/cluster/scaling.h"
#include "operator/serving/decision.h"
#include "operator/serving/pod_object.h"
#include "tests/operator/cluster/cluster_fixture.h"

namespace kantha::cluster {

/// An operator, and pods whose nodeds say what the test wants.
class ScalingFixture : public ClusterFixture {
 protected:
  static Json scaled(const std::string& name, Json autoscaling) {
    Json out = serving(name);
    out["spec"].erase("replicas");
    out["spec"]["autoscaling"] = std::move(autoscaling);
    return out;
  }
  std::int64_t wanted(const std::string& name) {
    return find(kube::kModelServings, name)->at("spec").value("replicas", std::int64_t{-1});
  }
  std::size_t pod_count() { return names(kube::kPods).size(); }
  /// The kubelet makes every pod ready that is not yet, and its engine says this pressure.
  void serve(double pressure) {
    for (const std::string& name : names(kube::kPods)) {
      const auto pod = serving::pod_object_from_json(*find(kube::kPods, name)).value();
      if (!pod.ready) make_ready(name);
      door_.states[name] = state_of(pod, pressure);
    }
  }
  static noded::PodState state_of(const serving::PodObject& pod, double pressure) {
    noded::PodState out;
    out.phase = noded::EnginePhase::kReady;
    out.config_hash = pod.engine_config_hash;
    out.kv_blocks_total = 100;
    out.kv_pressure = pressure;
    return out;
  }
  using ClusterFixture::condition;
  Json condition(const std::string& name) {
    const auto object = find(kube::kModelServings, name);
    for (const Json& entry : object->at("status").at("conditions")) {
      if (entry.at("type") == "ScalingActive") return entry;
    }
    return Json::object();
  }
  std::vector<serving::Decision> decisions(const std::string& name) {
    const auto object = find(kube::kModelServings, name);
    return serving::decisions_from_json(object->at("status").value("decisions", Json::array()));
  }
  /// An HPA of somebody who has nothing to do with us.
  void make_foreign_hpa(const std::string& name, const std::string& target) {
    make(kAutoscalers, {{"metadata", {{"name", name}, {"namespace", "a"}}},
                        {"spec",
                         {{"scaleTargetRef",
                           {{"apiVersion", "serving.kantha.dev/v1alpha1"},
                            {"kind", "ModelServing"},
                            {"name", target}}},
                          {"maxReplicas", 9}}}});
  }
};

}  // namespace kantha::cluster
