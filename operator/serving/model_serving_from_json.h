#pragma once

#include "base/json.h"
#include "operator/serving/types.h"

/// A ModelServing object's JSON (as YAML unfolds to it, and as the API server sends it) as structs,
/// and back. Any thread.
namespace kantha::serving {

/// Whether fields that we do not know are problems. Files are read strictly; objects from an API
/// server may carry fields of a newer version (and list items lack apiVersion and kind).
enum class UnknownFields : unsigned char { kRefuse, kIgnore };

/// Reads the object; types and shapes are judged here, ranges and rules in validate.h. `status` is
/// ignored. Every problem is appended; what is wrong keeps its default.
ModelServing model_serving_from_json(const Json& json, UnknownFields unknown, Problems& problems);

}  // namespace kantha::serving
