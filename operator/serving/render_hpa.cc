#include "operator/serving/render_hpa.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "operator/serving/children.h"
#include "operator/serving/model_serving_to_json.h"

namespace kantha::serving {
namespace {

/// 0.7 is "700m", 1 is "1": as an API server writes it, so that nothing is seen as changed.
std::string target_text(double target) {
  const auto milli = std::max<std::int64_t>(1, std::llround(target * 1000));
  return milli % 1000 == 0 ? std::to_string(milli / 1000) : std::to_string(milli) + "m";
}

}  // namespace

OrderedJson render_hpa(const ClusterServing& owner) {
  const std::string& name = owner.serving.metadata.name;
  CHECK(owner.serving.spec.autoscaling.has_value(), "only then there is an HPA");
  const AutoscalingSpec& scaling = *owner.serving.spec.autoscaling;
  OrderedJson out;
  out["apiVersion"] = "autoscaling/v2";
  out["kind"] = "HorizontalPodAutoscaler";
  out["metadata"] = child_metadata(owner, hpa_name(name));
  OrderedJson& spec = out["spec"];
  spec["scaleTargetRef"]["apiVersion"] = kApiVersion;
  spec["scaleTargetRef"]["kind"] = kKind;
  spec["scaleTargetRef"]["name"] = name;
  spec["minReplicas"] = scaling.awake_min();
  spec["maxReplicas"] = scaling.max_replicas;
  OrderedJson metric;
  metric["type"] = "Pods";
  metric["pods"]["metric"]["name"] = "kv_pressure";
  metric["pods"]["target"]["type"] = "AverageValue";
  metric["pods"]["target"]["averageValue"] = target_text(scaling.target_kv_pressure);
  spec["metrics"] = OrderedJson::array({metric});
  const Json behavior = behavior_json(scaling.behavior);
  if (!behavior.empty()) spec["behavior"] = OrderedJson::parse(dump_json(behavior));
  return out;
}

}  // namespace kantha::serving
