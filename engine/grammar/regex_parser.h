#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/grammar/budget.h"
#include "engine/grammar/dfa.h"
#include "engine/grammar/expression.h"

/// Regular expressions in ECMA-262's syntax, as JSON Schema's `pattern` has them.
namespace kantha::grammar {

/// Literals, `.`, classes, \d \w \s and their opposites, escapes, groups (names are read over), |,
/// quantifiers (lazy ones match the same texts), ^ and $ at the ends of the text. Look-around,
/// back-references, \b, \p{…} and flags are errors that name them; so is what is not a regex, and
/// what engines read differently (a brace that is no quantifier).
Result<Expression> parse_regex(std::string_view pattern, const std::string& path, Budget& budget);

/// Which texts a regex asks for.
enum class RegexMatch : std::uint8_t {
  kWhole,     ///< those that it matches from end to end
  kAnywhere,  ///< those in which it matches somewhere (JSON Schema)
};

/// The texts as an automaton over their encoded bytes.
Result<Dfa> compile_regex(std::string_view pattern, RegexMatch match, Encoding encoding,
                          const std::string& path, Budget& budget);

}  // namespace kantha::grammar
