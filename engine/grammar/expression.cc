#include "engine/grammar/expression.h"

namespace kantha::grammar {
namespace {

class ExpressionWriter {
 public:
  ExpressionWriter(Nfa& nfa, Encoding encoding, Budget& budget)
      : nfa_(nfa), encoding_(encoding), budget_(budget) {}

  Status add(StateId from, const Expression& expression, StateId to) {
    using Kind = Expression::Kind;
    TRY_OK(budget_.work(4));
    // Subset construction may make less of them, but not of so many.
    TRY_OK(budget_.check_states(nfa_.size() / 4));
    switch (expression.kind) {
      case Kind::kCodes: add_codes(nfa_, from, expression.codes, to, encoding_); break;
      case Kind::kSequence: return add_sequence(from, expression, to);
      case Kind::kOneOf:
        for (const Expression& part : expression.parts) TRY_OK(add(from, part, to));
        break;
      case Kind::kRepeat: return add_repeat(from, expression, to);
      case Kind::kAnchor: nfa_.add_empty(from, to, expression.anchor); break;
      case Kind::kRule: nfa_.add_call(from, expression.rule, to); break;
    }
    return ok_status();
  }

 private:
  Status add_sequence(StateId from, const Expression& expression, StateId to) {
    for (const Expression& part : expression.parts) {
      const StateId next = nfa_.add_state();
      TRY_OK(add(from, part, next));
      from = next;
    }
    nfa_.add_empty(from, to);
    return ok_status();
  }

  Status add_repeat(StateId from, const Expression& expression, StateId to) {
    const Expression& part = expression.parts.front();
    for (std::int32_t i = 0; i < expression.count_min; ++i) {
      const StateId next = nfa_.add_state();
      TRY_OK(add(from, part, next));
      from = next;
    }
    if (expression.count_max < 0) {
      const StateId loop = nfa_.add_state();
      nfa_.add_empty(from, loop);
      TRY_OK(add(loop, part, loop));
      nfa_.add_empty(loop, to);
      return ok_status();
    }
    for (std::int32_t i = expression.count_min; i < expression.count_max; ++i) {
      nfa_.add_empty(from, to);
      const StateId next = nfa_.add_state();
      TRY_OK(add(from, part, next));
      from = next;
    }
    nfa_.add_empty(from, to);
    return ok_status();
  }

  Nfa& nfa_;
  const Encoding encoding_;
  Budget& budget_;
};

}  // namespace

Status add_expression(Nfa& nfa, StateId from, const Expression& expression, StateId to,
                      Encoding encoding, Budget& budget) {
  // A part of its own: what loops inside never leads out of `from` or back into `to`.
  const StateId begin = nfa.add_state();
  const StateId end = nfa.add_state();
  nfa.add_empty(from, begin);
  nfa.add_empty(end, to);
  return ExpressionWriter(nfa, encoding, budget).add(begin, expression, end);
}

}  // namespace kantha::grammar
