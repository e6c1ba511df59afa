#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

/// What a YAML scalar means under the core schema of YAML 1.2. Any thread.
namespace kantha {

/// The value of a scalar. `tag` is as yaml-cpp gives it: "?" plain, "!" quoted, or an explicit tag
/// in full. kInvalidArgument: an unknown tag, a plain scalar that readers disagree on (010, 0x1f,
/// .inf), a number beyond 64 bits.
Result<Json> yaml_scalar_value(std::string_view text, std::string_view tag);

}  // namespace kantha
