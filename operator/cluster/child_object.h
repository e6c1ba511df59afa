#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource.h"
#include "operator/serving/pod_object.h"

/// Children as the stores keep them: what decisions need and no more, because ten thousand objects
/// have sixty thousand children. Values; any thread.
namespace kantha::cluster {

inline constexpr kube::Resource kAutoscalers{"autoscaling", "v2", "horizontalpodautoscalers",
                                             "HorizontalPodAutoscaler"};

/// A Service, budget, ServiceAccount or ConfigMap.
struct ChildObject {
  kube::ObjectStamp meta;
  std::string owner_uid;  ///< of the controlling owner; empty without one
  std::string serving;    ///< name of the ModelServing: by its label, else by its owner
  std::string created;    ///< RFC 3339
  /// Compact JSON of what decisions need: without status, and without what the server counts and
  /// keeps for itself (resourceVersion, generation, managedFields).
  /// Dropped once it was found to be as it should be.
  std::string text;
  std::size_t digest = 0;  ///< of `text`; 0: there never was one, and nothing is compared
  /// Of the document that it was found to be as; 0: it was not compared, or differed.
  std::size_t as_wanted = 0;
  /// Of an autoscaler: status.conditions as compact JSON, of each its type, status, reason,
  /// message.
  std::string conditions = {};

  /// The object again, as far as decisions need it.
  Json json() const;
};

/// Whether no decision could tell them apart: a disruption budget's status, say, changes with every
/// pod and says nothing to us. `before` and `after` bear one name.
bool is_same_content(const ChildObject& before, const ChildObject& after);

/// A pod, with the stamp that a store asks for.
struct StoredPod {
  kube::ObjectStamp meta;
  serving::PodObject pod;
};

/// Members that child_object_from_json leaves out anyway.
inline constexpr std::array<std::string_view, 1> kUnreadOfChildren = {"status"};

/// kInvalidArgument: no usable metadata; kOutOfRange: beyond the limits of cluster_object.h.
Result<ChildObject> child_object_from_json(const Json& object);
/// An HPA of anybody: `serving` is the ModelServing that it scales (empty: it scales something
/// else, and its content is left out).
Result<ChildObject> autoscaler_from_json(const Json& object);
/// The same without the content: immutable objects that are ours need no comparing.
Result<ChildObject> bare_child_from_json(const Json& object);
Result<StoredPod> stored_pod_from_json(const Json& object);

}  // namespace kantha::cluster
