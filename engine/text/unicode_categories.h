#pragma once

#include <span>
#include <string_view>

#include "engine/text/unicode_ranges.h"

/// Unicode's general categories and the script Han as sorted ranges; make_unicode_categories.py
/// writes the .cc file.
namespace kantha::text {

/// "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "N", "Nd", "P", "S", "Cc", "Cf",
/// "Co" or "Han"; empty for any other
/// name. Unicode 16, as the reference tokenizer has it.
std::span<const CodeRange> unicode_category(std::string_view name);

}  // namespace kantha::text
