#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/text/marked_text.h"
#include "engine/text/unicode_case.h"

/// Python's string operations on marked text: each part of a result keeps its origin.
namespace kantha::text {

enum class TrimEnds { kBoth, kLeft, kRight };

/// strip, lstrip, rstrip. `characters`: what to take away; nothing: white space.
MarkedText trimmed(const MarkedText& text, TrimEnds ends,
                   std::optional<std::string_view> characters = std::nullopt);
/// split(separator, count_max) with a separator that is not empty; a negative count: all.
std::vector<MarkedText> split_at(const MarkedText& text, std::string_view separator,
                                 std::int64_t count_max);
/// rsplit: the same from the right.
std::vector<MarkedText> split_at_right(const MarkedText& text, std::string_view separator,
                                       std::int64_t count_max);
/// split() at runs of white space, without empty parts.
std::vector<MarkedText> split_at_blanks(const MarkedText& text, std::int64_t count_max);
/// splitlines(keepends).
std::vector<MarkedText> split_lines(const MarkedText& text, bool keep_ends);
/// replace(old, by, count_max); kOutOfRange for a result longer than `bytes_max`.
Result<MarkedText> replaced(const MarkedText& text, std::string_view old, const MarkedText& by,
                            std::int64_t count_max, std::size_t bytes_max);
MarkedText in_case(const MarkedText& text, LetterCase wanted);
/// title(): each run of letters begins in upper case.
MarkedText titled(const MarkedText& text);
/// capitalize(): the first character in upper case, the rest in lower case.
MarkedText capitalized(const MarkedText& text);

}  // namespace kantha::text
