#pragma once

#include <string>
#include <string_view>

#include "operator/serving/types.h"

/// What a cluster asks of a ModelServing beyond validate(): names that become names of other
/// objects, and paths that become mounts. The CRD says the same in CEL; this is for objects that
/// got past it, under an older CRD. Pure; any thread.
namespace kantha::serving {

/// Every broken rule, in the order of the fields.
Problems cluster_problems(const ModelServing& serving);

/// "nvidia.com/gpu", "topology.kubernetes.io/zone": an optional DNS prefix and a name of at
/// most 63.
bool is_qualified_name(std::string_view text);

/// Lower-case letters, digits, '-' and '.', at most 253, as names of most objects are.
bool is_object_name(std::string_view text);

}  // namespace kantha::serving
