#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/grammar/budget.h"
#include "engine/grammar/dfa.h"
#include "engine/grammar/lexicon.h"
#include "engine/grammar/mask_table.h"
#include "engine/grammar/rule_set.h"

namespace kantha::grammar {

/// A compiled grammar: the automata of its rules in flat arrays. From every state an answer can be
/// finished with single-byte tokens, and every rule that is called takes at least one byte (where
/// it may be empty, its caller goes on without it).
struct Program {
  struct State {
    std::uint32_t first_edge = 0;
    std::uint32_t first_call = 0;
    bool accepts = false;  ///< its rule is over; never where a rule begins
  };
  struct Call {
    StateId start = 0;  ///< of the rule
    StateId to = 0;     ///< where its caller goes on
    bool last = false;  ///< its caller is over then: the rule takes its caller's place
  };

  /// A state that cannot be told from another one by so many bytes; 0: by the first one.
  struct Near {
    StateId state = 0;
    std::uint32_t bytes = 0;
  };

  std::shared_ptr<const Lexicon> lexicon;
  std::vector<State> states = {};  ///< and one that closes the list
  std::vector<DfaEdge> edges = {};
  std::vector<Call> calls = {};
  StateId start = 0;
  bool may_be_empty = false;        ///< the empty text is an answer
  std::vector<StateId> alike = {};  ///< [states] whose mask is its own too (state_classes.h)
  std::vector<Near> near = {};   ///< [states] of those: whose mask is the same but for long tokens
  mutable MaskTable masks = {};  ///< of those

  std::span<const DfaEdge> edges_of(StateId state) const {
    const std::size_t begin = states[state].first_edge;
    return std::span(edges).subspan(begin, states[state + 1].first_edge - begin);
  }
  std::span<const Call> calls_of(StateId state) const {
    const std::size_t begin = states[state].first_call;
    return std::span(calls).subspan(begin, states[state + 1].first_call - begin);
  }
  std::size_t memory_bytes() const;
};

/// Makes a program of rules. kInvalidArgument: a rule begins with itself (left recursion), nothing
/// can ever be finished, or a limit; `path` is where the wish stands.
Result<std::unique_ptr<Program>> link(const RuleSet& rules, RuleId root,
                                      std::shared_ptr<const Lexicon> lexicon,
                                      const std::string& path, Budget& budget);

}  // namespace kantha::grammar
