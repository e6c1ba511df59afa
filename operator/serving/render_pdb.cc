#include "operator/serving/render_pdb.h"

#include "operator/serving/children.h"
#include "operator/serving/plan_workload.h"

namespace kantha::serving {

OrderedJson render_pdb(const ClusterServing& owner) {
  const std::string& name = owner.serving.metadata.name;
  OrderedJson out;
  out["apiVersion"] = "policy/v1";
  out["kind"] = "PodDisruptionBudget";
  out["metadata"] = child_metadata(owner, disruption_budget_name(name));
  OrderedJson& spec = out["spec"];
  // As a count: Kubernetes rounds percentages up and the planner rounds them down.
  spec["maxUnavailable"] = max_unavailable(owner.serving);
  spec["selector"]["matchLabels"] = pod_selector(name);
  spec["unhealthyPodEvictionPolicy"] = "AlwaysAllow";
  return out;
}

}  // namespace kantha::serving
