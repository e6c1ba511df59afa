#include <array>
#include <charconv>
#include <cmath>

#include "engine/text/template_print.h"
#include "engine/text/template_value.h"
#include "engine/text/unicode_class.h"
#include "engine/text/utf8.h"

namespace kantha::text {
namespace {

/// Whether Python's repr shows the code point as it is; near enough beyond the everyday planes.
bool is_printable(char32_t code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0xAD) return false;
  if (code != ' ' && code_class(code) == CodeClass::kSpace) return false;
  if ((code >= 0x200B && code <= 0x200F) || (code >= 0x202A && code <= 0x202E)) return false;
  if ((code >= 0x2060 && code <= 0x206F) || code == 0xFEFF) return false;
  return !(code >= 0xE000 && code <= 0xF8FF) && code < 0xE0000;
}

void append_escaped(std::string& out, char32_t code) {
  const char* digits = "0123456789abcdef";
  const int width = code < 0x100 ? 2 : (code < 0x10000 ? 4 : 8);
  out += code < 0x100 ? "\\x" : (code < 0x10000 ? "\\u" : "\\U");
  for (int shift = 4 * (width - 1); shift >= 0; shift -= 4) out += digits[(code >> shift) & 15];
}

std::string repr_of_text(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = read_code_point(text, at);
    const char32_t code = point.code;
    if (code == '\n')
      out += "\\n";
    else if (code == '\r')
      out += "\\r";
    else if (code == '\t')
      out += "\\t";
    else if (code == '\\' || code == static_cast<char32_t>(quote)) {
      out += '\\';
      out += static_cast<char>(code);
    } else if (is_printable(code)) {
      append_code_point(out, code);
    } else {
      append_escaped(out, code);
    }
    at += point.length;
  }
  return out + quote;
}

Status append_repr(MarkedText& out, const Value& value) {
  if (const MarkedText* text = value.as_text()) {
    out.append(repr_of_text(text->bytes()), text->any_input());
    return ok_status();
  }
  if (const List* list = value.as_list()) {
    out.append(list->is_tuple ? "(" : "[", false);
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      if (i > 0) out.append(", ", false);
      TRY_OK(append_repr(out, list->items[i]));
    }
    if (list->is_tuple && list->items.size() == 1) out.append(",", false);
    out.append(list->is_tuple ? ")" : "]", false);
    return ok_status();
  }
  if (const Dict* dict = value.as_dict()) {
    out.append("{", false);
    for (std::size_t i = 0; i < dict->entries.size(); ++i) {
      if (i > 0) out.append(", ", false);
      TRY_OK(append_repr(out, dict->entries[i].first));
      out.append(": ", false);
      TRY_OK(append_repr(out, dict->entries[i].second));
    }
    out.append("}", false);
    return ok_status();
  }
  if (value.is_undefined()) {
    out.append("Undefined", false);
    return ok_status();
  }
  TRY(const MarkedText text, to_text(value));
  out.append(text);
  return ok_status();
}

}  // namespace

std::string print_float(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                 std::chars_format::scientific)
                       .ptr;
  // "-d.ddde±xx": the shortest digits that read back as the same number.
  std::string digits(buffer.data(), end);
  const std::size_t mark = digits.find('e');
  const int exponent = std::atoi(digits.c_str() + mark + 1);
  if (exponent < -4 || exponent >= 16) return digits;
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed)
          .ptr;
  std::string plain(buffer.data(), fixed);
  return plain.find('.') == std::string::npos ? plain + ".0" : plain;
}

Result<MarkedText> to_text(const Value& value) {
  if (const MarkedText* text = value.as_text()) return *text;
  if (value.is_undefined()) return MarkedText();
  if (value.is_none()) return MarkedText("None", false);
  if (const bool* flag = value.as<bool>()) return MarkedText(*flag ? "True" : "False", false);
  if (const auto* number = value.as<std::int64_t>()) {
    return MarkedText(std::to_string(*number), false);
  }
  if (const double* number = value.as<double>()) return MarkedText(print_float(*number), false);
  if (value.as_list() == nullptr && value.as_dict() == nullptr) return unusable(value, "printed");
  MarkedText out;
  TRY_OK(append_repr(out, value));
  return out;
}

}  // namespace kantha::text
