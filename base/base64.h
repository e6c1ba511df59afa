#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace kantha {

/// Bytes of a base64 text (RFC 4648, section 4, with padding). Line breaks and blanks are passed
/// over, as in PEM and YAML. kInvalidArgument for anything else. Any thread.
Result<std::string> decode_base64(std::string_view text);

/// The same back: no line breaks, with padding.
std::string encode_base64(std::string_view bytes);

}  // namespace kantha
