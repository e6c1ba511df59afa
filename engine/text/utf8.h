#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// UTF-8 read strictly (no overlong forms, no surrogates, at most U+10FFFF). Any thread.
namespace kantha::text {

enum class Utf8State : std::uint8_t {
  kComplete,    ///< `code` is the code point
  kInvalid,     ///< these bytes can never become a code point
  kIncomplete,  ///< the text ends inside a sequence that is right so far
};

/// What stands at one place of a text.
struct CodePoint {
  char32_t code = 0xFFFD;
  /// Bytes it takes, at least 1; of a bad sequence the longest part that began like a right one, so
  /// that one U+FFFD stands for it (Unicode 3.9, "substitution of maximal subparts").
  std::uint8_t length = 1;
  Utf8State state = Utf8State::kInvalid;
};

/// Reads the code point at `at`, which must be inside `text`.
CodePoint read_code_point(std::string_view text, std::size_t at);
void append_code_point(std::string& out, char32_t code);
/// Number of code points; a bad sequence counts as one.
std::size_t count_code_points(std::string_view text);
/// Appends `text` with every bad sequence as U+FFFD. Unless `final`, an incomplete sequence at the
/// end is left. Gives the number of bytes taken.
std::size_t append_valid_utf8(std::string& out, std::string_view text, bool final);

}  // namespace kantha::text
