#include "base/yaml_scalar.h"

#include <charconv>
#include <cmath>
#include <cstdint>

namespace kantha {
namespace {

constexpr std::string_view kStandardTag = "tag:yaml.org,2002:";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_from(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

std::string shown(std::string_view text) {
  return "\"" + std::string(text.substr(0, 60)) + (text.size() > 60 ? "…\"" : "\"");
}

enum class Shape { kText, kInteger, kNumber, kAmbiguous };

bool is_special_float(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return text == ".inf" || text == ".Inf" || text == ".INF" || text == ".nan" || text == ".NaN" ||
         text == ".NAN";
}

bool is_radix_integer(std::string_view text) {
  if (text.size() < 3 || text[0] != '0') return false;
  const std::string_view digits = text.substr(2);
  if (text[1] == 'x') {
    return digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
  }
  if (text[1] == 'o') return digits.find_first_not_of("01234567") == std::string_view::npos;
  return false;
}

/// [-+]? (digits [. digits?] | . digits) ([eE] [-+]? digits)?
Shape shape_of(std::string_view text) {
  if (is_special_float(text) || is_radix_integer(text)) return Shape::kAmbiguous;
  std::size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::size_t whole_at = at;
  const std::size_t whole = digits_from(text, at);
  at += whole;
  if (whole > 0 && at == text.size()) {
    return whole > 1 && text[whole_at] == '0' ? Shape::kAmbiguous : Shape::kInteger;
  }
  std::size_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    fraction = digits_from(text, at + 1);
    at += 1 + fraction;
  }
  if (whole + fraction == 0) return Shape::kText;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const std::size_t exponent = digits_from(text, at);
    if (exponent == 0) return Shape::kText;
    at += exponent;
  }
  if (at != text.size()) return Shape::kText;
  return whole > 1 && text[whole_at] == '0' ? Shape::kAmbiguous : Shape::kNumber;
}

std::string_view without_plus(std::string_view text) {
  return !text.empty() && text[0] == '+' ? text.substr(1) : text;
}

Result<Json> integer_value(std::string_view text) {
  std::int64_t value = 0;
  const std::string_view digits = without_plus(text);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    return invalid_argument("number " + shown(text) +
                            " does not fit 64 bits; put it in quotes if it is text");
  }
  return Json(value);
}

Result<Json> number_value(std::string_view text) {
  double value = 0;
  const std::string_view digits = without_plus(text);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || !std::isfinite(value)) {
    return invalid_argument("number " + shown(text) +
                            " is beyond double precision; put it in quotes if it is text");
  }
  return Json(value);
}

Result<Json> plain_value(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return Json(nullptr);
  }
  if (text == "true" || text == "True" || text == "TRUE") return Json(true);
  if (text == "false" || text == "False" || text == "FALSE") return Json(false);
  switch (shape_of(text)) {
    case Shape::kInteger: return integer_value(text);
    case Shape::kNumber: return number_value(text);
    case Shape::kText: return Json(std::string(text));
    case Shape::kAmbiguous: break;
  }
  return invalid_argument("plain " + shown(text) +
                          " means different things to different readers; write a decimal number "
                          "without leading zeros, or put it in quotes");
}

bool fits_tag(const Json& value, std::string_view tag) {
  if (tag == "int") return value.is_number_integer();
  if (tag == "float") return value.is_number();
  if (tag == "bool") return value.is_boolean();
  return tag == "null" && value.is_null();
}

}  // namespace

Result<Json> yaml_scalar_value(std::string_view text, std::string_view tag) {
  if (tag == "!") return Json(std::string(text));
  if (tag == "?" || tag.empty()) return plain_value(text);
  if (!tag.starts_with(kStandardTag)) {
    return invalid_argument("tag " + shown(tag) + " is not known here");
  }
  const std::string_view kind = tag.substr(kStandardTag.size());
  if (kind == "str") return Json(std::string(text));
  if (kind != "int" && kind != "float" && kind != "bool" && kind != "null") {
    return invalid_argument("tag \"!!" + std::string(kind.substr(0, 60)) +
                            "\" does not fit a scalar");
  }
  TRY(Json value, plain_value(text));
  if (!fits_tag(value, kind)) {
    return invalid_argument(shown(text) + " is not a !!" + std::string(kind));
  }
  return value;
}

}  // namespace kantha
