#include "operator/serving/quantity.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace kantha::serving {
namespace {

__extension__ using Wide = __int128;

constexpr Wide kMilliMax = INT64_MAX;
constexpr std::size_t kDigitsMax = 18;

Error not_a_quantity(std::string_view text) {
  return invalid_argument("expected a quantity such as 2Gi, 512Mi, 2 or 500m, got \"" +
                          std::string(text.substr(0, 40)) + "\"");
}

Error beyond_range(std::string_view text) {
  return {Code::kOutOfRange,
          "quantity \"" + std::string(text.substr(0, 40)) + "\" is outside 0.001 to 9e15"};
}

/// digits[.digits] as an integer and the count of digits behind the point.
struct Decimal {
  Wide digits = 0;
  int scale = 0;
  std::size_t length = 0;
};

std::optional<Decimal> read_decimal(std::string_view text) {
  Decimal out;
  std::size_t digit_count = 0;
  bool point = false;
  for (; out.length < text.size(); ++out.length) {
    const char c = text[out.length];
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    if (++digit_count > kDigitsMax) return std::nullopt;
    out.digits = out.digits * 10 + (c - '0');
    out.scale += point ? 1 : 0;
  }
  if (digit_count == 0) return std::nullopt;
  return out;
}

/// Power of ten and of 1024 that a suffix stands for.
struct Suffix {
  int ten = 0;
  int kibi = 0;
};

std::optional<Suffix> read_exponent(std::string_view text) {
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  int exponent = 0;
  const char* first = text.data() + (text[1] == '+' ? 2 : 1);
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(first, last, exponent);
  if (error != std::errc{} || end != last || exponent < -18 || exponent > 18) return std::nullopt;
  return Suffix{.ten = exponent};
}

std::optional<Suffix> read_suffix(std::string_view text) {
  static constexpr std::string_view kBinary = "KMGTPE";
  static constexpr std::string_view kDecimal = "kMGTPE";
  if (text.empty()) return Suffix{};
  if (text == "m") return Suffix{.ten = -3};
  if (text == "u") return Suffix{.ten = -6};
  if (text == "n") return Suffix{.ten = -9};
  if (text.size() == 2 && text[1] == 'i') {
    const auto at = kBinary.find(text[0]);
    if (at == std::string_view::npos) return std::nullopt;
    return Suffix{.kibi = static_cast<int>(at) + 1};
  }
  if (text.size() == 1) {
    const auto at = kDecimal.find(text[0]);
    if (at != std::string_view::npos) return Suffix{.ten = 3 * (static_cast<int>(at) + 1)};
  }
  return read_exponent(text);
}

}  // namespace

Result<std::int64_t> quantity_milli(std::string_view text) {
  const auto decimal = read_decimal(text);
  if (!decimal) return not_a_quantity(text);
  const auto suffix = read_suffix(text.substr(decimal->length));
  if (!suffix) return not_a_quantity(text);
  Wide value = decimal->digits;
  for (int i = 0; i < suffix->kibi; ++i) {
    value *= 1024;
    // Up to 18 decimals may still divide the value, so the wide type keeps 10^18 of room.
    if (value > kMilliMax * Wide{1'000'000'000'000'000'000}) return beyond_range(text);
  }
  int ten = suffix->ten + 3 - decimal->scale;
  for (; ten > 0; --ten) {
    value *= 10;
    if (value > kMilliMax) return beyond_range(text);
  }
  for (; ten < 0; ++ten) {
    if (value % 10 != 0 && suffix->kibi == 0) return beyond_range(text);
    value = (value + 9) / 10;
  }
  if (value > kMilliMax) return beyond_range(text);
  return static_cast<std::int64_t>(value);
}

Result<std::int64_t> quantity_units(std::string_view text) {
  TRY(const std::int64_t milli, quantity_milli(text));
  return milli / 1000 + (milli % 1000 != 0 ? 1 : 0);
}

Result<IntOrPercent> parse_int_or_percent(std::string_view text) {
  IntOrPercent out;
  std::string_view digits = text;
  if (!digits.empty() && digits.back() == '%') {
    out.percent = true;
    digits.remove_suffix(1);
  }
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, out.value);
  const bool whole = error == std::errc{} && end == last && !digits.empty();
  const bool padded = digits.size() > 1 && digits[0] == '0';
  if (!whole || padded || digits[0] == '-' || digits[0] == '+') {
    return invalid_argument("expected an integer or a percentage such as 25%, got \"" +
                            std::string(text.substr(0, 40)) + "\"");
  }
  return out;
}

std::string int_or_percent_text(const IntOrPercent& value) {
  return std::to_string(value.value) + (value.percent ? "%" : "");
}

std::int64_t resolve(const IntOrPercent& value, std::int64_t total) {
  if (!value.percent) return value.value;
  if (value.value <= 0 || total <= 0) return 0;
  const Wide share = Wide{total} * value.value / 100;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min<Wide>(share, INT64_MAX)));
}

}  // namespace kantha::serving
