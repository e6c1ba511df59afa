#pragma once

#include <string>

#include "base/result.h"
#include "engine/grammar/schema_document.h"
#include "engine/grammar/schema_shape.h"

namespace kantha::grammar {

/// Adds what one keyword says of values, if it is one that does not apply other schemas in place
/// ($ref, allOf, anyOf, oneOf do). Keywords that no draft of JSON Schema asserts anything with, and
/// annotations, change nothing. kInvalidArgument when its own value is malformed.
Status apply_keyword(Schema schema, const std::string& keyword, SchemaDocument& document,
                     Shape& shape);

/// A keyword's value as a count: an integer from 0 on, also written 3.0.
Result<std::size_t> read_count(Schema place, const SchemaDocument& document);

}  // namespace kantha::grammar
