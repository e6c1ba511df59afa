#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "engine/text/template_eval.h"
#include "engine/text/template_filters.h"
#include "engine/text/template_operators.h"
#include "engine/text/text_operations.h"

namespace kantha::text {
namespace {

using Arguments = BoundArguments;

std::optional<std::int64_t> whole_of(double number) {
  // 2^63 itself is the first double that does not fit.
  if (!(number >= -0x1p63 && number < 0x1p63)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<double> read_float(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool all = read.ptr == text.data() + text.size() && read.ec == std::errc{};
  return all && !text.empty() ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> read_integer(std::string_view text, int base) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, base);
  const bool all = read.ptr == text.data() + text.size() && read.ec == std::errc{};
  if (all && !text.empty()) return number;
  const auto real = read_float(text);
  return real ? whole_of(*real) : std::nullopt;
}

Result<Value> to_integer(Evaluator&, const Value& value, const Arguments& arguments) {
  if (value.is_undefined()) return unusable(value, "read as a number");
  TRY(const std::int64_t base, arguments.integer(1, 10));
  if (base < 2 || base > 36) return invalid_argument("int: expected a base in [2, 36]");
  std::optional<std::int64_t> number = value.as_integer();
  if (const double* real = value.as<double>()) number = whole_of(*real);
  if (const MarkedText* text = value.as_text()) {
    number = read_integer(trimmed(*text, TrimEnds::kBoth).bytes(), static_cast<int>(base));
  }
  if (number) return Value::integer(*number);
  return arguments.has(0) ? arguments[0] : Value::integer(0);
}

Result<Value> to_float(Evaluator&, const Value& value, const Arguments& arguments) {
  if (value.is_undefined()) return unusable(value, "read as a number");
  std::optional<double> number = value.as_number();
  if (const MarkedText* text = value.as_text()) {
    number = read_float(trimmed(*text, TrimEnds::kBoth).bytes());
  }
  if (number) return Value(*number);
  return arguments.has(0) ? arguments[0] : Value(0.0);
}

Result<Value> absolute(Evaluator&, const Value& value, const Arguments&) {
  if (const double* real = value.as<double>()) return Value(std::fabs(*real));
  const auto number = value.as_integer();
  if (!number) return unusable(value, "made positive");
  if (*number >= 0) return Value::integer(*number);
  return arithmetic(Operator::kSubtract, Value::integer(0), value, 0);
}

/// Half to even on the decimal value, as Python rounds.
double rounded(double number, int precision) {
  std::array<char, 400> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.*f", precision, number);
  return std::strtod(buffer.data(), nullptr);
}

Result<Value> round(Evaluator&, const Value& value, const Arguments& arguments) {
  TRY(const std::int64_t precision, arguments.integer(0, 0));
  if (precision < 0 || precision > 30) {
    return unimplemented("round with a precision outside of [0, 30]");
  }
  const bool is_common = !arguments.has(1) || arguments[1].equals(Value::text("common"));
  const auto number = value.as_number();
  if (!number) return unusable(value, "rounded");
  if (is_common && value.as_integer()) return value;
  if (is_common) return Value(rounded(*number, static_cast<int>(precision)));
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const bool up = arguments[1].equals(Value::text("ceil"));
  if (!up && !arguments[1].equals(Value::text("floor"))) {
    return invalid_argument("round: expected the method common, ceil or floor");
  }
  return Value((up ? std::ceil(*number * scale) : std::floor(*number * scale)) / scale);
}

Result<Value> otherwise(Evaluator&, const Value& value, const Arguments& arguments) {
  const bool missing = value.is_undefined() || (arguments.flag(1, false) && !value.truthy());
  if (!missing) return value;
  return arguments.has(0) ? arguments[0] : Value::text("");
}

constexpr std::array<std::string_view, 2> kInt = {"default", "base"};
constexpr std::array<std::string_view, 1> kFloat = {"default"};
constexpr std::array<std::string_view, 2> kRound = {"precision", "method"};
constexpr std::array<std::string_view, 2> kDefault = {"default_value", "boolean"};

constexpr std::array kFilters = {
    Filter{"abs", {}, FilterCost::kConstant, absolute},
    Filter{"d", kDefault, FilterCost::kConstant, otherwise},
    Filter{"default", kDefault, FilterCost::kConstant, otherwise},
    Filter{"float", kFloat, FilterCost::kItems, to_float},
    Filter{"int", kInt, FilterCost::kItems, to_integer},
    Filter{"round", kRound, FilterCost::kConstant, round},
};

}  // namespace

std::span<const Filter> number_filters() { return kFilters; }

}  // namespace kantha::text
