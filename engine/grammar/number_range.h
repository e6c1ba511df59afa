#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "engine/grammar/dfa.h"

/// Numbers within bounds, as automata over their digits.
namespace kantha::grammar {

/// Whole numbers have at most 18 digits.
inline constexpr std::int64_t kIntegerMax = 999'999'999'999'999'999;
/// Other bounded numbers are counted in millionths: 9 digits before the point and 6 after it, so
/// that each is another double, and comparing digits is comparing numbers.
inline constexpr std::int64_t kMillionths = 1'000'000;
inline constexpr std::int64_t kMillionthsMax = 999'999'999'999'999;

/// Closed; empty when low > high.
struct NumberRange {
  std::int64_t low = 0;
  std::int64_t high = 0;

  bool empty() const { return low > high; }
};

/// Texts of whole numbers in the range (within ±kIntegerMax), without leading zeros and without -0.
Nfa integers_in(NumberRange range);
/// Texts of numbers with up to 6 digits after a point; the range is in millionths.
Nfa decimals_in(NumberRange range);
/// Texts of whole numbers that `divisor` (1 … 1,000) divides.
Nfa multiples_of(std::int64_t divisor);

/// A JSON number in units of 10^-digits, rounded towards minus or plus infinity and kept within
/// ±`max`.
struct Scaled {
  std::int64_t value = 0;
  bool rounded = false;  ///< to a whole number of units
  int beyond = 0;        ///< 1: above max, -1: below -max
};
Scaled scale(const OrderedJson& number, int digits, bool up, std::int64_t max);

}  // namespace kantha::grammar
