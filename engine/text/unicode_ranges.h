#pragma once

#include <span>

/// Unicode facts as sorted tables; the .cc file is written by make_unicode_ranges.py.
namespace kantha::text {

/// Code points first..last, both included.
struct CodeRange {
  char32_t first;
  char32_t last;
};

/// Code points first, first+step, …, last, whose partner in the other case is `delta` further.
struct CaseRun {
  char32_t first;
  char32_t last;
  int step;
  int delta;
};

/// A code point whose other case is several code points; unused places are 0.
struct SpecialCase {
  char32_t from;
  char32_t first;
  char32_t second;
  char32_t third;
};

std::span<const CodeRange> letter_ranges();  ///< \p{L}
std::span<const CodeRange> number_ranges();  ///< \p{N}
/// Case tables hold code points beyond ASCII only.
std::span<const CaseRun> upper_runs();
std::span<const CaseRun> lower_runs();
std::span<const CaseRun> title_runs();
std::span<const SpecialCase> upper_specials();
std::span<const SpecialCase> title_specials();

}  // namespace kantha::text
