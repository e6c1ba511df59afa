#pragma once

#include <string>
#include <string_view>

/// Upper, lower and title case beyond ASCII, as Python's str has them (Unicode 14). Any thread.
namespace kantha::text {

enum class LetterCase { kUpper, kLower, kTitle };

/// Appends the code point in another case; several code points where Unicode says so (ß → SS).
void append_in_case(std::string& out, char32_t code, LetterCase wanted);
/// Whether the code point has a case at all, so that it continues a word for str.title().
bool is_cased(char32_t code);
std::string in_case(std::string_view text, LetterCase wanted);

}  // namespace kantha::text
