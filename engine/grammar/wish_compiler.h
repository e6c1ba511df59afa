#pragma once

#include "base/result.h"
#include "engine/grammar/budget.h"
#include "engine/grammar/lexicon.h"
#include "engine/grammar/rule_set.h"
#include "engine/grammar/wish.h"

namespace kantha::grammar {

/// Writes a wish's rules and gives the one that stands for all of it.
Result<RuleId> compile_wish(const Wish& wish, const Lexicon& lexicon, RuleSet& rules,
                            Budget& budget);

}  // namespace kantha::grammar
