#pragma once

#include <string>
#include <string_view>
#include <vector>

/// What each fuzzer program defines; fuzzer.cc makes a libFuzzer program of the two.
namespace kantha::fuzz {

/// Anything may come out, but nothing may crash, hang, leak or eat memory. What must hold is a
/// CHECK. One thread.
void run(std::string_view input);

/// Good inputs to begin with: small ones, each of another kind.
std::vector<std::string> seeds();

}  // namespace kantha::fuzz
