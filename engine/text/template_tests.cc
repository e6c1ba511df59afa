#include "engine/text/template_tests.h"

#include <algorithm>
#include <array>

#include "engine/text/template_operators.h"
#include "engine/text/unicode_case.h"

namespace kantha::text {
namespace {

using Arguments = BoundArguments;

template <Operator kOperator>
Result<bool> compared(const Value& value, const Arguments& arguments) {
  return compare_by(kOperator, value, arguments[0]);
}

Result<std::int64_t> whole(const Value& value) {
  const auto number = value.as_integer();
  if (!number) return unusable(value, "tested for divisors");
  return *number;
}

Result<bool> is_odd(const Value& value, const Arguments&) {
  TRY(const std::int64_t number, whole(value));
  return number % 2 != 0;
}

Result<bool> is_even(const Value& value, const Arguments&) {
  TRY(const std::int64_t number, whole(value));
  return number % 2 == 0;
}

Result<bool> is_divisible(const Value& value, const Arguments& arguments) {
  TRY(const std::int64_t number, whole(value));
  TRY(const std::int64_t divisor, whole(arguments[0]));
  if (divisor == 0) return invalid_argument("division by zero");
  return divisor == -1 || number % divisor == 0;
}

Result<bool> is_bool(const Value& value, bool wanted) {
  const bool* flag = value.as<bool>();
  return flag != nullptr && *flag == wanted;
}

bool iterable(const Value& value) {
  return value.is_undefined() || value.as_text() != nullptr || value.as_list() != nullptr ||
         value.as_dict() != nullptr;
}

bool function(const Value& value) {
  return value.as<std::shared_ptr<const Method>>() != nullptr ||
         value.as<const Statement*>() != nullptr || value.as<GlobalFunction>() != nullptr;
}

Result<bool> in_one_case(const Value& value, LetterCase wanted) {
  TRY(const MarkedText text, to_text(value));
  const bool cased =
      in_case(text.bytes(), LetterCase::kUpper) != in_case(text.bytes(), LetterCase::kLower);
  return cased && in_case(text.bytes(), wanted) == text.bytes();
}

constexpr std::array kTests = {
    Test{"!=", 1, compared<Operator::kNotEqual>},
    Test{"<", 1, compared<Operator::kLess>},
    Test{"<=", 1, compared<Operator::kLessEqual>},
    Test{"==", 1, compared<Operator::kEqual>},
    Test{">", 1, compared<Operator::kGreater>},
    Test{">=", 1, compared<Operator::kGreaterEqual>},
    Test{"boolean", 0,
         [](const Value& v, const Arguments&) -> Result<bool> { return v.as<bool>() != nullptr; }},
    Test{"callable", 0,
         [](const Value& v, const Arguments&) -> Result<bool> { return function(v); }},
    Test{"defined", 0,
         [](const Value& v, const Arguments&) -> Result<bool> { return !v.is_undefined(); }},
    Test{"divisibleby", 1, is_divisible},
    Test{"eq", 1, compared<Operator::kEqual>},
    Test{"equalto", 1, compared<Operator::kEqual>},
    Test{"even", 0, is_even},
    Test{"false", 0, [](const Value& v, const Arguments&) { return is_bool(v, false); }},
    Test{
        "float", 0,
        [](const Value& v, const Arguments&) -> Result<bool> { return v.as<double>() != nullptr; }},
    Test{"ge", 1, compared<Operator::kGreaterEqual>},
    Test{"greaterthan", 1, compared<Operator::kGreater>},
    Test{"gt", 1, compared<Operator::kGreater>},
    Test{"in", 1, compared<Operator::kIn>},
    Test{"integer", 0,
         [](const Value& v, const Arguments&) -> Result<bool> {
           return v.as<std::int64_t>() != nullptr;
         }},
    Test{"iterable", 0,
         [](const Value& v, const Arguments&) -> Result<bool> { return iterable(v); }},
    Test{"le", 1, compared<Operator::kLessEqual>},
    Test{"lessthan", 1, compared<Operator::kLess>},
    Test{"lower", 0,
         [](const Value& v, const Arguments&) { return in_one_case(v, LetterCase::kLower); }},
    Test{"lt", 1, compared<Operator::kLess>},
    Test{"mapping", 0,
         [](const Value& v, const Arguments&) -> Result<bool> { return v.as_dict() != nullptr; }},
    Test{"ne", 1, compared<Operator::kNotEqual>},
    Test{"none", 0, [](const Value& v, const Arguments&) -> Result<bool> { return v.is_none(); }},
    Test{
        "number", 0,
        [](const Value& v, const Arguments&) -> Result<bool> { return v.as_number().has_value(); }},
    Test{"odd", 0, is_odd},
    Test{"sequence", 0,
         [](const Value& v, const Arguments&) -> Result<bool> { return iterable(v); }},
    Test{"string", 0,
         [](const Value& v, const Arguments&) -> Result<bool> { return v.as_text() != nullptr; }},
    Test{"true", 0, [](const Value& v, const Arguments&) { return is_bool(v, true); }},
    Test{"undefined", 0,
         [](const Value& v, const Arguments&) -> Result<bool> { return v.is_undefined(); }},
    Test{"upper", 0,
         [](const Value& v, const Arguments&) { return in_one_case(v, LetterCase::kUpper); }},
};

}  // namespace

const Test* find_test(std::string_view name) {
  const auto found = std::find_if(kTests.begin(), kTests.end(),
                                  [&](const Test& test) { return test.name == name; });
  return found == kTests.end() ? nullptr : &*found;
}

Result<bool> apply_test(const Test& test, const Value& value, const CallArguments& arguments) {
  constexpr std::array<std::string_view, 1> kOther = {"other"};
  const std::string what = "test \"" + std::string(test.name) + "\"";
  TRY(const BoundArguments bound,
      bind_arguments(what, std::span(kOther).first(test.arguments), arguments));
  if (test.arguments == 1 && !bound.has(0))
    return invalid_argument(what + ": expected an argument");
  return test.run(value, bound);
}

}  // namespace kantha::text
