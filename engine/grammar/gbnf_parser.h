#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/grammar/budget.h"
#include "engine/grammar/rule_set.h"

/// Grammars in GBNF, the notation that llama.cpp made known.
namespace kantha::grammar {

/// `name ::= …` with "literals", [classes], `.`, names, groups, |, ?, *, + and {n,m}; comments
/// begin with #. A rule goes on until the next one begins. Gives the rule `root`.
Result<RuleId> parse_gbnf(std::string_view source, const std::string& path, RuleSet& rules,
                          Budget& budget);

}  // namespace kantha::grammar
