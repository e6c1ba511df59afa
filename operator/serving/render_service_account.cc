#include "operator/serving/render_service_account.h"

#include "operator/serving/children.h"

namespace kantha::serving {

OrderedJson render_service_account(const ClusterServing& owner) {
  OrderedJson out;
  out["apiVersion"] = "v1";
  out["kind"] = "ServiceAccount";
  out["metadata"] = child_metadata(owner, service_account_name(owner.serving.metadata.name));
  out["automountServiceAccountToken"] = false;
  return out;
}

}  // namespace kantha::serving
