#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

/// SHA-256 as lower-case hex. Any thread.
namespace kantha {

/// Digest of the bytes.
std::string sha256_hex(std::string_view bytes);
/// Digest of a file's content; kNotFound or kInternal with the path.
Result<std::string> sha256_hex_of_file(const std::string& path);

}  // namespace kantha
