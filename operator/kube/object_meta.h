#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "operator/kube/resource.h"

/// metav1.ObjectMeta as plain data, without managedFields. Values; any thread.
/// Source: Kubernetes API reference, "ObjectMeta".
namespace kantha::kube {

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool operator==(const OwnerReference&) const = default;
};

struct ObjectMeta {
  ObjectKey key;
  std::string uid;
  /// Opaque but for compare_versions: equal means equal content.
  std::string resource_version;
  std::int64_t generation = 0;                    ///< counts changes of spec
  std::optional<std::string> deletion_timestamp;  ///< RFC 3339; set: being deleted
  std::vector<std::string> finalizers;
  std::vector<OwnerReference> owners;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  bool operator==(const ObjectMeta&) const = default;

  bool is_deleting() const { return deletion_timestamp.has_value(); }
  /// The owner with controller=true, or nullptr.
  const OwnerReference* controller() const;
};

/// The least that tells one state of an object from another, for stores of tens of thousands.
struct ObjectStamp {
  ObjectKey key;
  std::string uid;
  std::string resource_version;
  bool is_marked = false;  ///< has a deletionTimestamp
  bool operator==(const ObjectStamp&) const = default;

  bool is_deleting() const { return is_marked; }
};

/// Reads an object's "metadata". kInvalidArgument with the path of the field at fault.
Result<ObjectMeta> object_meta_from_json(const Json& object);

/// Orders two resourceVersions of one kind as the numbers that they are since Kubernetes 1.35
/// (KEP-5504); unordered when either is no number. Any thread.
std::partial_ordering compare_versions(const std::string& left, const std::string& right);

}  // namespace kantha::kube
