#include "operator/serving/render_admin_secret.h"

#include "operator/serving/children.h"

namespace kantha::serving {

OrderedJson render_admin_secret(const ClusterServing& owner, const std::string& token) {
  OrderedJson out;
  out["apiVersion"] = "v1";
  out["kind"] = "Secret";
  out["metadata"] = child_metadata(owner, admin_secret_name(owner.serving.metadata.name));
  out["type"] = "Opaque";
  out["stringData"][kAdminTokenKey] = token;
  return out;
}

}  // namespace kantha::serving
