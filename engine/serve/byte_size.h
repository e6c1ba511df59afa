#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace kantha::serve {

/// Bytes of "1024", "512Mi", "2Gi", "64M" (Ki Mi Gi Ti are powers of 1024, k M G T of 1000), at
/// least 1. kInvalidArgument shows the text. Pure; any thread.
Result<std::int64_t> parse_byte_size(std::string_view text);

}  // namespace kantha::serve
