#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/grammar/budget.h"
#include "engine/grammar/nfa.h"

/// Deterministic automata over bytes, of a rule or of a regular language.
namespace kantha::grammar {

struct DfaEdge {
  unsigned char low = 0;
  unsigned char high = 0;
  StateId to = 0;
};

struct DfaState {
  std::vector<DfaEdge> edges = {};        ///< rising, apart from each other
  std::vector<Nfa::CallEdge> calls = {};  ///< each (rule, to) once; several of one rule may be
  bool accepts = false;
};

/// State 0 is the start. Without states it accepts nothing.
struct Dfa {
  std::vector<DfaState> states = {};

  bool accepts(std::string_view text) const;
  /// After trim.
  bool accepts_nothing() const { return states.empty(); }
};

/// The automaton of the same language; calls are letters like bytes. Anchors must be resolved.
Result<Dfa> determinize(const Nfa& nfa, Budget& budget);

/// Only what leads from the start to an accepting state. Without calls.
Dfa trim(const Dfa& dfa);
/// Texts of both; of `a` and not of `b`. Trimmed; without calls.
Result<Dfa> both(const Dfa& a, const Dfa& b, Budget& budget);
Result<Dfa> difference(const Dfa& a, const Dfa& b, Budget& budget);

/// Writes the automaton between two states of another one.
void embed(const Dfa& dfa, Nfa& nfa, StateId from, StateId to);

}  // namespace kantha::grammar
