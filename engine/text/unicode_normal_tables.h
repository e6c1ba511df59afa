#pragma once

#include <cstdint>
#include <span>

#include "engine/text/unicode_ranges.h"

/// Tables of Unicode's canonical forms; make_unicode_categories.py writes the .cc file. Hangul
/// syllables are computed and in no table.
namespace kantha::text {

/// `code` is canonically the same as `first` and then `second` (0: nothing), which may be
/// decomposed further.
struct Decomposition {
  char32_t code;
  char32_t first;
  char32_t second;
};

struct CombiningRange {
  char32_t first;
  char32_t last;
  std::uint8_t combining_class;
};

std::span<const Decomposition> decompositions();
/// Codes that are never composed again although they have a decomposition into two.
std::span<const CodeRange> composition_exclusions();
std::span<const CombiningRange> combining_ranges();

}  // namespace kantha::text
