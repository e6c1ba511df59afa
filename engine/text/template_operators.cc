#include "engine/text/template_operators.h"

#include <cstring>

#include <algorithm>
#include <cmath>
#include <limits>

namespace kantha::text {
namespace {

std::string_view spelled(Operator which) {
  switch (which) {
    case Operator::kAdd: return "+";
    case Operator::kSubtract: return "-";
    case Operator::kMultiply: return "*";
    case Operator::kDivide: return "/";
    case Operator::kFloorDivide: return "//";
    case Operator::kModulo: return "%";
    case Operator::kPower: return "**";
    default: return "~";
  }
}

Error does_not_fit(Operator which, const Value& left, const Value& right) {
  if (left.is_undefined()) return unusable(left, "calculated with");
  if (right.is_undefined()) return unusable(right, "calculated with");
  return invalid_argument("operator " + std::string(spelled(which)) + " does not take " +
                          std::string(left.type_name()) + " and " + std::string(right.type_name()));
}

Error too_large() { return {Code::kOutOfRange, "a number beyond 64 bits in a template"}; }
Error zero_divisor() { return invalid_argument("division by zero"); }

Result<Value> integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return too_large();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return too_large();
  }
  return Value::integer(result);
}

/// Quotient rounded down, as Python's // and %.
Result<Value> integer_division(Operator which, std::int64_t left, std::int64_t right) {
  if (right == 0) return zero_divisor();
  if (left == std::numeric_limits<std::int64_t>::min() && right == -1) {
    return which == Operator::kModulo ? Result<Value>(Value::integer(0)) : too_large();
  }
  std::int64_t quotient = left / right;
  std::int64_t rest = left % right;
  if (rest != 0 && (rest < 0) != (right < 0)) {
    --quotient;
    rest += right;
  }
  return Value::integer(which == Operator::kModulo ? rest : quotient);
}

Result<Value> integer_arithmetic(Operator which, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  bool overflows = false;
  switch (which) {
    case Operator::kAdd: overflows = __builtin_add_overflow(left, right, &result); break;
    case Operator::kSubtract: overflows = __builtin_sub_overflow(left, right, &result); break;
    case Operator::kMultiply: overflows = __builtin_mul_overflow(left, right, &result); break;
    case Operator::kFloorDivide:
    case Operator::kModulo: return integer_division(which, left, right);
    default: return integer_power(left, right);
  }
  if (overflows) return too_large();
  return Value::integer(result);
}

Result<Value> float_arithmetic(Operator which, double left, double right) {
  const bool divides =
      which == Operator::kDivide || which == Operator::kFloorDivide || which == Operator::kModulo;
  if (divides && right == 0) return zero_divisor();
  switch (which) {
    case Operator::kAdd: return Value(left + right);
    case Operator::kSubtract: return Value(left - right);
    case Operator::kMultiply: return Value(left * right);
    case Operator::kDivide: return Value(left / right);
    case Operator::kFloorDivide: return Value(std::floor(left / right));
    case Operator::kModulo: {
      const double rest = std::fmod(left, right);
      return Value(rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest);
    }
    default: break;
  }
  if (left == 0 && right < 0) return zero_divisor();
  return Value(std::pow(left, right));
}

Error too_long(std::size_t bytes_max) {
  return {Code::kOutOfRange,
          "a text of more than " + std::to_string(bytes_max) + " bytes in a template"};
}

Result<Value> joined_texts(const MarkedText& left, const MarkedText& right, std::size_t bytes_max) {
  if (left.size() + right.size() > bytes_max) return too_long(bytes_max);
  MarkedText text = left;
  text.append(right);
  return Value::text(std::move(text));
}

Result<Value> repeated(const Value& value, std::int64_t count, std::size_t bytes_max) {
  const auto times = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  const std::size_t size =
      value.as_text() != nullptr ? value.as_text()->size() : value.as_list()->items.size();
  if (size != 0 && times > bytes_max / size) return too_long(bytes_max);
  if (const MarkedText* text = value.as_text()) {
    MarkedText out;
    for (std::size_t i = 0; i < times && size != 0; ++i) out.append(*text);
    return Value::text(std::move(out));
  }
  std::vector<Value> items;
  for (std::size_t i = 0; i < times && size != 0; ++i) {
    items.insert(items.end(), value.as_list()->items.begin(), value.as_list()->items.end());
  }
  return Value::list(std::move(items), value.as_list()->is_tuple);
}

bool repeats(const Value& value) {
  return value.as_text() != nullptr || value.as_list() != nullptr;
}

Result<bool> contains(const Value& container, const Value& item) {
  if (const MarkedText* text = container.as_text()) {
    if (item.as_text() == nullptr) return unusable(item, "searched in a text");
    return find_text(text->bytes(), item.as_text()->bytes()) != std::string_view::npos;
  }
  if (const Dict* dict = container.as_dict()) return dict->find(item) != nullptr;
  if (container.is_undefined()) return false;
  const List* list = container.as_list();
  if (list == nullptr) return unusable(container, "searched");
  return std::any_of(list->items.begin(), list->items.end(),
                     [&](const Value& one) { return one.equals(item); });
}

}  // namespace

std::size_t find_text(std::string_view text, std::string_view needle, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (needle.empty()) return from;
  const void* found = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

Result<Value> arithmetic(Operator which, const Value& left, const Value& right,
                         std::size_t bytes_max) {
  if (which == Operator::kConcat) {
    TRY(const MarkedText left_text, to_text(left));
    TRY(const MarkedText right_text, to_text(right));
    return joined_texts(left_text, right_text, bytes_max);
  }
  const auto left_integer = left.as_integer();
  const auto right_integer = right.as_integer();
  if (left_integer && right_integer) {
    const bool becomes_float =
        which == Operator::kDivide || (which == Operator::kPower && *right_integer < 0);
    if (!becomes_float) return integer_arithmetic(which, *left_integer, *right_integer);
  }
  if (left.as_number() && right.as_number()) {
    return float_arithmetic(which, *left.as_number(), *right.as_number());
  }
  if (which == Operator::kMultiply) {
    if (repeats(left) && right_integer) return repeated(left, *right_integer, bytes_max);
    if (repeats(right) && left_integer) return repeated(right, *left_integer, bytes_max);
  }
  if (which != Operator::kAdd) return does_not_fit(which, left, right);
  if (left.as_text() != nullptr && right.as_text() != nullptr) {
    return joined_texts(*left.as_text(), *right.as_text(), bytes_max);
  }
  const List* left_list = left.as_list();
  const List* right_list = right.as_list();
  const bool lists =
      left_list != nullptr && right_list != nullptr && left_list->is_tuple == right_list->is_tuple;
  if (!lists) return does_not_fit(which, left, right);
  std::vector<Value> items = left_list->items;
  items.insert(items.end(), right_list->items.begin(), right_list->items.end());
  return Value::list(std::move(items), left_list->is_tuple);
}

Result<bool> compare_by(Operator which, const Value& left, const Value& right) {
  switch (which) {
    case Operator::kEqual: return left.equals(right);
    case Operator::kNotEqual: return !left.equals(right);
    case Operator::kIn: return contains(right, left);
    case Operator::kNotIn: {
      TRY(const bool found, contains(right, left));
      return !found;
    }
    default: break;
  }
  TRY(const int sign, compare(left, right));
  switch (which) {
    case Operator::kLess: return sign < 0;
    case Operator::kLessEqual: return sign <= 0;
    case Operator::kGreater: return sign > 0;
    default: return sign >= 0;
  }
}

}  // namespace kantha::text
