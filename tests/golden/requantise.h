#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tests/fake/gguf_writer.h"

/// The test model with other weight types: what a user's file holds, made on the spot.
namespace kantha::golden {

/// "Q4_K_M", "Q5_K_M" and "Q6_K" as llama.cpp's mixtures of those names (where 256 does not divide
/// the columns, Q5_0, Q5_1 and Q8_0 stand in); "every-type" gives each layer other types.
std::vector<std::string_view> mixtures();

/// A GGUF file with the same keys and tensors, matrices rounded anew to the mixture's types. The
/// bytes depend on nothing but the arguments.
fake::Bytes requantise(std::span<const std::byte> gguf, std::string_view mixture);

}  // namespace kantha::golden
