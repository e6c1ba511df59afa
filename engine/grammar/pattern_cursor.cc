#include "engine/grammar/pattern_cursor.h"

#include <algorithm>
#include <charconv>

#include "engine/text/utf8.h"

namespace kantha::grammar {

char32_t PatternCursor::take_code() {
  const text::CodePoint point = text::read_code_point(text_, at_);
  at_ += point.length;
  return point.code;
}

Result<char32_t> PatternCursor::take_hex(std::size_t digits) {
  const std::string_view part = text_.substr(at_, digits);
  std::uint32_t code = 0;
  const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), code, 16);
  if (part.size() != digits || failure != std::errc() || end != part.data() + part.size()) {
    return error("expected " + std::to_string(digits) + " hexadecimal digits");
  }
  if (code > 0x10FFFF) return error("beyond U+10FFFF");
  at_ += digits;
  return static_cast<char32_t>(code);
}

Error PatternCursor::error_at(std::size_t offset, const std::string& what) const {
  return invalid_argument(path_ + ": " + what + " at offset " + std::to_string(offset), path_);
}

}  // namespace kantha::grammar
