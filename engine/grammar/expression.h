#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/grammar/budget.h"
#include "engine/grammar/encoding.h"
#include "engine/grammar/nfa.h"
#include "engine/text/code_set.h"

/// What a regex or the right side of a grammar's rule says.
namespace kantha::grammar {

/// A tree; its depth is within Limits::depth_max.
struct Expression {
  enum class Kind : std::uint8_t {
    kCodes,     ///< one code point of `codes`; none: never matches
    kSequence,  ///< `parts`, one after the other; none: the empty text
    kOneOf,     ///< one of `parts`
    kRepeat,    ///< parts.front() from count_min to count_max times; -1: no bound
    kAnchor,    ///< start or end of the text
    kRule,      ///< the rule with id `rule`
  };
  Kind kind = Kind::kSequence;
  text::CodeSet codes = {};
  std::vector<Expression> parts = {};
  std::int32_t count_min = 0;
  std::int32_t count_max = 0;
  Anchor anchor = Anchor::kNone;
  RuleId rule = 0;
};

inline Expression codes_of(text::CodeSet codes) {
  return {.kind = Expression::Kind::kCodes, .codes = std::move(codes)};
}

/// Counts of `{n}`, `{n,}` and `{n,m}` and of the signs ?, * and +.
struct Repeats {
  std::int32_t min = 0;
  std::int32_t max = 0;  ///< -1: no bound
};

/// One or none of the parts around an expression.
inline Expression repeated(Expression part, Repeats repeats) {
  Expression result{.kind = Expression::Kind::kRepeat};
  result.parts.push_back(std::move(part));
  result.count_min = repeats.min;
  result.count_max = repeats.max;
  return result;
}

/// Writes the expression between two states. Anchors become edges (resolve_anchors).
Status add_expression(Nfa& nfa, StateId from, const Expression& expression, StateId to,
                      Encoding encoding, Budget& budget);

}  // namespace kantha::grammar
