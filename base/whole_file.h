#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

/// Small files that are read and replaced as a whole: configurations and tokens. Any thread.
namespace kantha {

/// All bytes of a file. kNotFound when it cannot be opened, kOutOfRange when it is longer than
/// `bytes_max`; both name the path.
Result<std::string> read_whole_file(const std::string& path, std::size_t bytes_max);

/// Writes the bytes beside `path` and renames them over it, so that a reader finds the old content
/// or the new one. The new file has mode 0600. kInternal names path and reason; then the old
/// content is still there.
Status replace_whole_file(const std::string& path, std::string_view bytes);

}  // namespace kantha
