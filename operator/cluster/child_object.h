#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "operator/kube/object_meta.h"
#include "operator/serving/pod_object.h"

/// Children as the stores keep them: what decisions need and no more, because ten thousand objects
/// have sixty thousand children. Values; any thread.
namespace kantha::cluster {

/// A Service, budget, ServiceAccount or ConfigMap.
struct ChildObject {
  kube::ObjectMeta
      meta;  ///< without labels, annotations, owners and finalizers: they are in `text`
  std::string owner_uid;  ///< of the controlling owner; empty without one
  std::string serving;    ///< name of the ModelServing: by its label, else by its owner
  std::string created;    ///< RFC 3339
  std::string text;       ///< compact JSON without managedFields and status

  /// The object again.
  Json json() const;
};

/// A pod; its meta holds no more than key, uid, resourceVersion and deletion.
struct StoredPod {
  kube::ObjectMeta meta;
  serving::PodObject pod;
};

/// kInvalidArgument: no usable metadata; kOutOfRange: beyond the limits of cluster_object.h.
Result<ChildObject> child_object_from_json(const Json& object);
/// The same without the content: immutable objects that are ours need no comparing.
Result<ChildObject> bare_child_from_json(const Json& object);
Result<StoredPod> stored_pod_from_json(const Json& object);

}  // namespace kantha::cluster
