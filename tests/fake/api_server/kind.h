#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

/// What the fake API server knows of each kind: how it is named, which parts it has, and how its
/// lists and maps merge. Values; one thread.
/// Source: Kubernetes API reference 1.37; the +listType, +listMapKey, +mapType marks of its types.
namespace kantha::fake {

struct Kind {
  std::string group = {};  ///< empty for the core group
  std::string version = {};
  std::string plural = {};
  std::string kind = {};
  bool is_namespaced = true;
  bool has_status = false;  ///< a status subresource; PUT and PATCH of the object then ignore it
  bool has_scale = false;
  bool has_generation = false;
  bool is_custom = false;        ///< from a CustomResourceDefinition
  bool returns_deleted = false;  ///< DELETE answers with the object instead of a Status
  bool needs_version = false;    ///< PUT without resourceVersion is refused
  bool is_installed = true;      ///< false after its CustomResourceDefinition went
  Json schema = nullptr;         ///< openAPIV3Schema of a custom kind
  Json names = Json::object();   ///< spec.names of a custom kind

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  /// "pods", or "modelservings.serving.kantha.dev": as messages name it.
  std::string qualified() const { return group.empty() ? plural : plural + "." + group; }
};

/// The built-in kinds that the operator, its pods and the tests need.
std::vector<Kind> built_in_kinds();
/// The kind that a CustomResourceDefinition describes (its storage version).
Kind kind_of_definition(const Json& definition);

enum class ListType : unsigned char { kAtomic, kMap, kSet };

/// Where a walk through an object stands in its kind's structure.
class Shape {
 public:
  explicit Shape(const Kind& kind);

  Shape field(const std::string& name) const;
  Shape element() const;
  /// A map that is owned and replaced as a whole.
  bool is_atomic_map() const;
  ListType list_type() const;
  /// The fields that identify an element of a list of type map.
  std::vector<std::string> list_keys() const;
  /// The path component of an element: k:{"name":"noded"} or v:"text".
  std::string element_name(const Json& element) const;

 private:
  const Kind* kind_;
  std::string dotted_;  ///< "spec.containers.ports": without elements
  const Json* schema_;  ///< of a custom kind, outside of metadata; else nullptr
};

}  // namespace kantha::fake
