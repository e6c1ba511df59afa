#include "engine/text/string_escapes.h"

#include <charconv>
#include <cstdint>

#include "engine/text/utf8.h"

namespace kantha::text {
namespace {

/// The letter escapes of one character; '\0' for others.
char simple_escape(char c) {
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'v': return '\v';
    case '\\':
    case '\'':
    case '"': return c;
    default: return '\0';
  }
}

Result<char32_t> hex_code(std::string_view digits, std::size_t length) {
  std::uint32_t code = 0;
  const bool enough = digits.size() >= length;
  const auto end = digits.data() + (enough ? length : 0);
  const auto read = std::from_chars(digits.data(), end, code, 16);
  if (!enough || read.ptr != end || read.ec != std::errc{}) {
    return invalid_argument("expected " + std::to_string(length) +
                            " hexadecimal digits in an escape");
  }
  if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
    return invalid_argument(
        "expected a Unicode character in an escape, got a surrogate or more "
        "than U+10FFFF");
  }
  return char32_t{code};
}

}  // namespace

Result<std::string> unescape_string(std::string_view literal) {
  std::string out;
  for (std::size_t at = 0; at < literal.size(); ++at) {
    if (literal[at] != '\\' || at + 1 == literal.size()) {
      out.push_back(literal[at]);
      continue;
    }
    const char c = literal[++at];
    if (const char simple = simple_escape(c); simple != '\0') {
      out.push_back(simple);
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const std::size_t length = c == 'x' ? 2 : (c == 'u' ? 4 : 8);
      TRY(const char32_t code, hex_code(literal.substr(at + 1), length));
      append_code_point(out, code);
      at += length;
    } else if (c >= '0' && c <= '7') {
      char32_t code = 0;
      std::size_t end = at;
      while (end < at + 3 && end < literal.size() && literal[end] >= '0' && literal[end] <= '7') {
        code = code * 8 + static_cast<char32_t>(literal[end++] - '0');
      }
      append_code_point(out, code);
      at = end - 1;
    } else if (c != '\n') {
      out.push_back('\\');
      out.push_back(c);
    }
  }
  return out;
}

}  // namespace kantha::text
