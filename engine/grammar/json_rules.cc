#include "engine/grammar/json_rules.h"

#include <utility>

#include "engine/grammar/encoding.h"

namespace kantha::grammar {
namespace {

/// Up to so many more digits, after each of which it may be over.
void add_digits(Nfa& nfa, StateId from, int count, StateId to) {
  for (int i = 0; i < count; ++i) {
    nfa.add_empty(from, to);
    const StateId next = nfa.add_state();
    nfa.add_bytes(from, '0', '9', next);
    from = next;
  }
  nfa.add_empty(from, to);
}

/// A sign if there is one, and at most so many digits without leading zeros.
void add_whole(Nfa& nfa, StateId from, int digits, StateId to) {
  const StateId begin = nfa.add_state();
  nfa.add_empty(from, begin);
  nfa.add_bytes(from, '-', '-', begin);
  nfa.add_bytes(begin, '0', '0', to);
  const StateId more = nfa.add_state();
  nfa.add_bytes(begin, '1', '9', more);
  add_digits(nfa, more, digits - 1, to);
}

void add_any_number(Nfa& nfa) {
  add_whole(nfa, Nfa::kStart, 18, Nfa::kAccept);
  const StateId whole = nfa.add_state();
  add_whole(nfa, Nfa::kStart, 15, whole);
  const StateId fraction = nfa.add_state();
  const StateId digits = nfa.add_state();
  const StateId exponent = nfa.add_state();
  nfa.add_bytes(whole, '.', '.', fraction);
  nfa.add_bytes(fraction, '0', '9', digits);
  add_digits(nfa, digits, 14, exponent);
  nfa.add_empty(whole, exponent);
  nfa.add_empty(exponent, Nfa::kAccept);
  const StateId sign = nfa.add_state();
  const StateId power = nfa.add_state();
  const StateId second = nfa.add_state();
  nfa.add_bytes(exponent, 'e', 'e', sign);
  nfa.add_bytes(exponent, 'E', 'E', sign);
  nfa.add_empty(sign, power);
  nfa.add_bytes(sign, '+', '+', power);
  nfa.add_bytes(sign, '-', '-', power);
  nfa.add_bytes(power, '0', '9', second);
  nfa.add_bytes(second, '0', '9', Nfa::kAccept);
  nfa.add_empty(second, Nfa::kAccept);
}

}  // namespace

RuleId JsonRules::space() {
  if (space_) return *space_;
  space_ = rules_.add("white space");
  Nfa nfa;
  nfa.add_empty(Nfa::kStart, Nfa::kAccept);
  if (!compact_) {
    nfa.add_bytes(Nfa::kStart, ' ', ' ', Nfa::kAccept);
    StateId at = nfa.add_state();
    nfa.add_bytes(Nfa::kStart, '\n', '\n', at);
    for (int i = 0; i < kIndentMax; ++i) {
      nfa.add_empty(at, Nfa::kAccept);
      const StateId next = nfa.add_state();
      nfa.add_bytes(at, ' ', ' ', next);
      at = next;
    }
    nfa.add_empty(at, Nfa::kAccept);
  }
  rules_.set(*space_, std::move(nfa));
  return *space_;
}

RuleId JsonRules::string() {
  if (string_) return *string_;
  string_ = rules_.add("string");
  Nfa nfa;
  const StateId inside = nfa.add_state();
  nfa.add_bytes(Nfa::kStart, '"', '"', inside);
  add_json_character(nfa, inside, inside);
  nfa.add_bytes(inside, '"', '"', Nfa::kAccept);
  rules_.set(*string_, std::move(nfa));
  return *string_;
}

RuleId JsonRules::number() {
  if (number_) return *number_;
  number_ = rules_.add("number");
  add_any_number(rules_.nfa(*number_));
  return *number_;
}

RuleId JsonRules::integer() {
  if (integer_) return *integer_;
  integer_ = rules_.add("integer");
  add_whole(rules_.nfa(*integer_), Nfa::kStart, 18, Nfa::kAccept);
  return *integer_;
}

RuleId JsonRules::array() {
  if (array_) return *array_;
  array_ = rules_.add("array");
  Nfa nfa;
  const StateId open = nfa.add_state();
  const StateId item = nfa.add_state();
  const StateId after = nfa.add_state();
  const StateId close = nfa.add_state();
  const StateId comma = nfa.add_state();
  nfa.add_bytes(Nfa::kStart, '[', '[', open);
  nfa.add_call(open, space(), item);
  nfa.add_call(item, value(), after);
  nfa.add_bytes(after, ',', ',', comma);
  nfa.add_call(comma, space(), item);
  nfa.add_call(after, space(), close);
  nfa.add_call(open, space(), close);
  nfa.add_bytes(close, ']', ']', Nfa::kAccept);
  rules_.set(*array_, std::move(nfa));
  return *array_;
}

RuleId JsonRules::object() {
  if (object_) return *object_;
  object_ = rules_.add("object");
  Nfa nfa;
  const StateId open = nfa.add_state();
  const StateId key = nfa.add_state();
  const StateId colon = nfa.add_state();
  const StateId before_value = nfa.add_state();
  const StateId at_value = nfa.add_state();
  const StateId after = nfa.add_state();
  const StateId comma = nfa.add_state();
  const StateId close = nfa.add_state();
  nfa.add_bytes(Nfa::kStart, '{', '{', open);
  nfa.add_call(open, space(), key);
  nfa.add_call(key, string(), colon);
  nfa.add_bytes(colon, ':', ':', before_value);
  nfa.add_call(before_value, space(), at_value);
  nfa.add_call(at_value, value(), after);
  nfa.add_bytes(after, ',', ',', comma);
  nfa.add_call(comma, space(), key);
  nfa.add_call(after, space(), close);
  nfa.add_call(open, space(), close);
  nfa.add_bytes(close, '}', '}', Nfa::kAccept);
  rules_.set(*object_, std::move(nfa));
  return *object_;
}

RuleId JsonRules::value() {
  if (value_) return *value_;
  value_ = rules_.add("value");
  const RuleId self = *value_;
  Nfa nfa;
  for (const RuleId rule : {object(), array(), string(), number()}) {
    nfa.add_call(Nfa::kStart, rule, Nfa::kAccept);
  }
  for (const char* word : {"true", "false", "null"}) {
    nfa.add_text(Nfa::kStart, word, Nfa::kAccept);
  }
  rules_.set(self, std::move(nfa));
  return self;
}

}  // namespace kantha::grammar
