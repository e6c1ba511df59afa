#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

/// Python's escapes in string literals: \n \t \\ \' \xHH \uHHHH \UHHHHHHHH \ooo and the like.
namespace kantha::text {

/// The value of a literal's inside. An unknown escape stays as it is written, as in Python; an
/// incomplete one or a surrogate is kInvalidArgument.
Result<std::string> unescape_string(std::string_view literal);

}  // namespace kantha::text
