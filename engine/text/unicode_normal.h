#pragma once

#include <string>
#include <string_view>

/// Unicode's canonical forms (Standard Annex 15). Bytes that are not UTF-8 stay as they are. Linear
/// but for the sorting of marks that follow one letter. Any thread.
namespace kantha::text {

/// Composed: é is one code point.
std::string normal_form_c(std::string_view text);
/// Decomposed: é is e and an accent.
std::string normal_form_d(std::string_view text);

}  // namespace kantha::text
