#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Texts that others wrote and we repeat, within a length. Pure; any thread.
namespace kantha::serving {

/// The text, or its beginning and "…", in at most `bytes_max` bytes; never ends within a UTF-8
/// character.
std::string bounded_text(std::string_view text, std::size_t bytes_max);

}  // namespace kantha::serving
