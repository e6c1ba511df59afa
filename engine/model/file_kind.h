#pragma once

#include <cstddef>
#include <span>
#include <string>

/// What a file that should be a model is instead: the answer to most "cannot load" reports.
namespace kantha::model {

/// True when the first four bytes are GGUF's magic.
bool starts_like_gguf(std::span<const std::byte> bytes);

/// A phrase for a message, as in "a Git LFS pointer (fetch it with git lfs pull)". Looks at no more
/// than the first 4 KiB. Any thread.
std::string describe_file(std::span<const std::byte> bytes);

}  // namespace kantha::model
