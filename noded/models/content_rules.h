#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// What a file is by its first bytes. Pure; any thread.
namespace kantha::noded {

/// How many bytes of a file's beginning content_problem looks at.
inline constexpr std::size_t kContentHeadBytes = 1024;

/// Why a file that begins with `head` cannot be GGUF weights: a Git LFS pointer, an HTML, XML or
/// JSON page, zeros, another format. Empty when it can. `head` is the whole file, or at least 32
/// bytes of it.
std::string content_problem(std::string_view head);

}  // namespace kantha::noded
