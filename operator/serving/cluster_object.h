#pragma once

#include <cstddef>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "operator/kube/object_meta.h"
#include "operator/serving/types.h"

/// A ModelServing as the API server has it. Pure; any thread.
namespace kantha::serving {

/// Objects beyond these are refused: the API server itself stores at most 1.5 MiB.
inline constexpr std::size_t kObjectBytesMax = 3 * 512 * 1024;
inline constexpr std::size_t kObjectDepthMax = 64;

/// The object, decoded. Labels and annotations are left out of it, but for those of ours: nothing
/// depends on them, and at ten thousand objects they would be the most of the memory.
struct ClusterServing {
  kube::ObjectMeta meta;
  ModelServing serving;
  /// What is wrong with the spec: types, validate() and cluster_problems(). Not empty: no pod of it
  /// may be touched.
  Problems problems;
  /// status as last written, compact JSON with sorted keys; "{}" before the first write.
  /// status_from_text reads it.
  std::string status = "{}";

  bool is_deleting() const { return meta.is_deleting(); }
};

/// Decodes one object. apiVersion and kind may be missing (list items have none); fields of newer
/// versions are ignored. A wrong spec is not an error but `problems`. kInvalidArgument: no usable
/// metadata; kOutOfRange: more than 1.5 MiB or 64 levels.
Result<ClusterServing> cluster_serving_from_json(const Json& object);

/// Whether a JSON value stays within a size and a depth. Looks at no more than it has to, and does
/// not recurse.
bool json_fits(const Json& json, std::size_t bytes_max, std::size_t depth_max);

/// ClusterServing::status as JSON; what is no object (a person may have edited it) counts as an
/// empty one.
Json status_from_text(const std::string& text);

}  // namespace kantha::serving
