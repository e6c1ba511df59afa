#include "engine/grammar/number_range.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "base/json.h"

namespace kantha::grammar {
namespace {

/// Digit strings between two of the same length, character by character.
class DigitWriter {
 public:
  /// `may_stop`: the rest may be left out where it is all zeros for the lower bound.
  DigitWriter(Nfa& nfa, std::string low, std::string high, bool may_stop, StateId to)
      : nfa_(nfa), low_(std::move(low)), high_(std::move(high)), may_stop_(may_stop), to_(to) {}

  /// The state before all digits.
  StateId begin() { return at({0, true, true}); }

 private:
  struct Place {
    std::size_t digit;
    bool at_low;   ///< so far the digits are those of the lower bound
    bool at_high;  ///< of the upper one
    auto operator<=>(const Place&) const = default;
  };

  StateId at(Place place) {
    const auto known = states_.find(place);
    if (known != states_.end()) return known->second;
    if (place.digit == low_.size()) return states_[place] = to_;
    const StateId state = nfa_.add_state();
    states_[place] = state;
    const char low = place.at_low ? low_[place.digit] : '0';
    const char high = place.at_high ? high_[place.digit] : '9';
    for (char c = low; c <= high; ++c) {
      const auto byte = static_cast<unsigned char>(c);
      nfa_.add_bytes(state, byte, byte,
                     at({place.digit + 1, place.at_low && c == low, place.at_high && c == high}));
    }
    const bool rest_is_zero =
        !place.at_low || low_.find_first_not_of('0', place.digit) == std::string::npos;
    if (may_stop_ && place.digit > 0 && rest_is_zero) nfa_.add_empty(state, to_);
    return state;
  }

  Nfa& nfa_;
  const std::string low_;
  const std::string high_;
  const bool may_stop_;
  const StateId to_;
  std::map<Place, StateId> states_;
};

/// Whole numbers from `low` ≥ 0 to `high`: length by length.
void add_whole(Nfa& nfa, StateId from, std::int64_t low, std::int64_t high, StateId to) {
  for (std::int64_t power = 1; power <= high || power == 1; power *= 10) {
    const std::int64_t first = std::max(low, power == 1 ? 0 : power);
    const std::int64_t last = std::min(high, power * 10 - 1);
    if (first > last) continue;
    DigitWriter writer(nfa, std::to_string(first), std::to_string(last), false, to);
    nfa.add_empty(from, writer.begin());
    if (power > kIntegerMax / 10) break;
  }
}

std::string six_digits(std::int64_t millionths) {
  const std::string digits = std::to_string(millionths);
  return std::string(6 - digits.size(), '0') + digits;
}

/// The rest of a number after its whole part: nothing or a point and digits, low ≤ … ≤ high
/// millionths.
void add_fraction(Nfa& nfa, StateId from, std::int64_t low, std::int64_t high, StateId to) {
  if (low == 0) nfa.add_empty(from, to);
  DigitWriter writer(nfa, six_digits(low), six_digits(high), true, to);
  nfa.add_bytes(from, '.', '.', writer.begin());
}

/// Numbers from `low` ≥ 0 to `high` millionths.
void add_decimals(Nfa& nfa, StateId from, std::int64_t low, std::int64_t high, StateId to) {
  const std::int64_t first = low / kMillionths;
  const std::int64_t last = high / kMillionths;
  const auto add_part = [&](std::int64_t whole_low, std::int64_t whole_high,
                            std::int64_t fraction_low, std::int64_t fraction_high) {
    if (whole_low > whole_high) return;
    const StateId point = nfa.add_state();
    add_whole(nfa, from, whole_low, whole_high, point);
    add_fraction(nfa, point, fraction_low, fraction_high, to);
  };
  if (first == last) return add_part(first, first, low % kMillionths, high % kMillionths);
  add_part(first, first, low % kMillionths, kMillionths - 1);
  add_part(first + 1, last - 1, 0, kMillionths - 1);
  add_part(last, last, 0, high % kMillionths);
}

template <class Add>
Nfa both_signs(NumberRange range, Add add) {
  Nfa nfa;
  if (range.high >= 0) {
    const std::int64_t low = std::max<std::int64_t>(range.low, 0);
    if (low <= range.high) add(nfa, Nfa::kStart, low, range.high, Nfa::kAccept);
  }
  if (range.low < 0) {
    const std::int64_t smallest = std::max<std::int64_t>(-range.high, 1);
    if (smallest > -range.low) return nfa;
    const StateId after_sign = nfa.add_state();
    nfa.add_bytes(Nfa::kStart, '-', '-', after_sign);
    add(nfa, after_sign, smallest, -range.low, Nfa::kAccept);
  }
  return nfa;
}

/// A decimal number: digits times 10^exponent.
struct Decimal {
  bool negative = false;
  std::string digits = {};
  int exponent = 0;
};

Decimal decimal_of(const std::string& text) {
  Decimal decimal;
  std::size_t at = 0;
  bool after_point = false;
  for (; at < text.size() && text[at] != 'e' && text[at] != 'E'; ++at) {
    if (text[at] == '-') decimal.negative = true;
    if (text[at] == '.') after_point = true;
    if (text[at] < '0' || text[at] > '9') continue;
    decimal.digits += text[at];
    if (after_point) --decimal.exponent;
  }
  if (at < text.size()) decimal.exponent += std::atoi(text.c_str() + at + 1);
  const std::size_t zeros = std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size());
  decimal.digits.erase(0, zeros);
  return decimal;
}

}  // namespace

Nfa integers_in(NumberRange range) { return both_signs(range, add_whole); }

Nfa decimals_in(NumberRange range) { return both_signs(range, add_decimals); }

Nfa multiples_of(std::int64_t divisor) {
  Nfa nfa;
  const StateId after_sign = nfa.add_state();
  nfa.add_empty(Nfa::kStart, after_sign);
  nfa.add_bytes(Nfa::kStart, '-', '-', after_sign);
  std::vector<StateId> remainders;
  for (std::int64_t i = 0; i < divisor; ++i) remainders.push_back(nfa.add_state());
  for (std::int64_t i = 0; i < divisor; ++i) {
    for (int digit = 0; digit < 10; ++digit) {
      const auto byte = static_cast<unsigned char>('0' + digit);
      const StateId to = remainders[static_cast<std::size_t>((i * 10 + digit) % divisor)];
      nfa.add_bytes(remainders[static_cast<std::size_t>(i)], byte, byte, to);
    }
  }
  nfa.add_empty(after_sign, remainders[0]);
  nfa.add_empty(remainders[0], Nfa::kAccept);
  return nfa;
}

Scaled scale(const OrderedJson& number, int digits, bool up, std::int64_t max) {
  Decimal decimal = decimal_of(number.dump());
  if (decimal.digits.empty()) return {};
  const int shift = decimal.exponent + digits;
  const int length = static_cast<int>(decimal.digits.size()) + shift;
  const int sign = decimal.negative ? -1 : 1;
  if (length > 18) return {.value = sign * max, .beyond = sign};
  bool exact = true;
  if (shift > 0) decimal.digits.append(static_cast<std::size_t>(shift), '0');
  if (shift < 0) {
    const auto keep = static_cast<std::size_t>(std::max(length, 0));
    exact = decimal.digits.find_first_not_of('0', keep) == std::string::npos;
    decimal.digits.resize(keep);
  }
  std::int64_t value = decimal.digits.empty() ? 0 : sign * std::stoll(decimal.digits);
  // Cutting digits has rounded towards zero.
  if (!exact && up && sign > 0) ++value;
  if (!exact && !up && sign < 0) --value;
  if (value > max) return {.value = max, .beyond = 1};
  if (value < -max) return {.value = -max, .beyond = -1};
  return {.value = value, .rounded = !exact};
}

}  // namespace kantha::grammar
