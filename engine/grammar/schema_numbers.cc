#include <algorithm>
#include <cmath>

#include "engine/grammar/number_range.h"
#include "engine/grammar/schema_compiler.h"

/// Numbers within bounds.
namespace kantha::grammar {
namespace {

constexpr std::int64_t kDivisorMax = 1000;

/// All bounds together in units of 10^-digits; empty where they leave nothing.
NumberRange range_of(const std::vector<NumberBound>& bounds, int digits, std::int64_t max) {
  NumberRange range{-max, max};
  for (const NumberBound& bound : bounds) {
    const Scaled scaled = scale(*bound.value, digits, /*up=*/bound.lower, max);
    const int away = bound.lower ? 1 : -1;
    if (scaled.beyond == away) return {.low = 1, .high = 0};
    if (scaled.beyond == -away) continue;
    const std::int64_t step = bound.exclusive && !scaled.rounded ? away : 0;
    if (bound.lower) range.low = std::max(range.low, scaled.value + step);
    if (!bound.lower) range.high = std::min(range.high, scaled.value + step);
  }
  return range;
}

}  // namespace

Status SchemaCompiler::add_number(Nfa& nfa, const Shape& shape) {
  const bool whole = (shape.types & kFractionType) == 0 || !shape.multiples.empty();
  if (shape.bounds.empty() && shape.multiples.empty()) {
    nfa.add_call(Nfa::kStart, whole ? json_.integer() : json_.number(), Nfa::kAccept);
    return ok_status();
  }
  if (!whole) {
    const NumberRange range = range_of(shape.bounds, 6, kMillionthsMax);
    if (range.empty()) {
      return document_.error(shape.bounds.front().value,
                             "no number with up to 9 digits before the point and 6 after it is "
                             "within the bounds");
    }
    TRY(const Dfa dfa, determinize(decimals_in(range), budget_));
    embed(dfa, nfa, Nfa::kStart, Nfa::kAccept);
    return ok_status();
  }
  const NumberRange range = range_of(shape.bounds, 0, kIntegerMax);
  // An empty one is a contradiction like any other.
  if (range.empty()) return ok_status();
  TRY(const Dfa dfa, integers(shape, range.low, range.high));
  embed(dfa, nfa, Nfa::kStart, Nfa::kAccept);
  return ok_status();
}

/// Whole numbers in a range that all divisors divide.
Result<Dfa> SchemaCompiler::integers(const Shape& shape, std::int64_t low, std::int64_t high) {
  TRY(Dfa dfa, determinize(integers_in({low, high}), budget_));
  for (const Schema multiple : shape.multiples) {
    const double divisor = multiple->get<double>();
    if (divisor > kDivisorMax || std::trunc(divisor) != divisor) {
      return document_.error(
          multiple, "multipleOf is supported for integers up to " + std::to_string(kDivisorMax));
    }
    TRY(const Dfa divided, determinize(multiples_of(static_cast<std::int64_t>(divisor)), budget_));
    TRY(dfa, both(dfa, divided, budget_));
  }
  return dfa;
}

}  // namespace kantha::grammar
