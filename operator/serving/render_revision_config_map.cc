#include "operator/serving/render_revision_config_map.h"

#include "operator/serving/children.h"

namespace kantha::serving {

OrderedJson render_revision_config_map(const ClusterServing& owner, const ClusterSettings& settings,
                                       const Revision& target) {
  OrderedJson out;
  out["apiVersion"] = "v1";
  out["kind"] = "ConfigMap";
  OrderedJson& metadata = out["metadata"] =
      child_metadata(owner, revision_config_map_name(owner.serving.metadata.name, target.whole));
  metadata["labels"][kLabelRevision] = short_revision(target.whole);
  metadata["annotations"][kAnnotationTold] = target.whole;
  out["immutable"] = true;
  out["data"]["engine.json"] = cluster_engine_config(owner.serving);
  out["data"]["image"] = engine_image_of(owner.serving, settings);
  return out;
}

}  // namespace kantha::serving
