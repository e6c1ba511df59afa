#include "engine/grammar/nfa.h"

namespace kantha::grammar {

StateId Nfa::add_state() {
  states_.emplace_back();
  return static_cast<StateId>(states_.size() - 1);
}

void Nfa::add_empty(StateId from, StateId to, Anchor anchor) {
  states_[from].empties.push_back({anchor, to});
  has_anchors_ = has_anchors_ || anchor != Anchor::kNone;
}

void Nfa::add_text(StateId from, std::string_view text, StateId to) {
  if (text.empty()) return add_empty(from, to);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const StateId next = i + 1 == text.size() ? to : add_state();
    const auto byte = static_cast<unsigned char>(text[i]);
    add_bytes(from, byte, byte, next);
    from = next;
  }
}

Nfa resolve_anchors(Nfa nfa) {
  if (!nfa.has_anchors_) return nfa;
  // Copies: before the first byte, after it, after the end, and all of an empty text.
  enum Phase : StateId { kBefore, kWithin, kAfter, kNothing, kPhases };
  const auto count = static_cast<StateId>(nfa.size());
  Nfa result;
  const auto copy_of = [&](StateId state, StateId phase) { return 2 + state * kPhases + phase; };
  const auto after_end = [](StateId phase) {
    return phase == kBefore || phase == kNothing ? kNothing : kAfter;
  };
  for (StateId i = 0; i < count * kPhases; ++i) result.add_state();
  for (StateId i = 0; i < count * kPhases; ++i) {
    const Nfa::State& source = nfa.states_[i / kPhases];
    const StateId phase = i % kPhases;
    const StateId from = 2 + i;
    for (const Nfa::EmptyEdge& edge : source.empties) {
      const bool at_start = phase == kBefore || phase == kNothing;
      if (edge.anchor == Anchor::kStart && !at_start) continue;
      result.add_empty(from,
                       copy_of(edge.to, edge.anchor == Anchor::kEnd ? after_end(phase) : phase));
    }
    if (phase == kAfter || phase == kNothing) continue;
    for (const Nfa::ByteEdge& edge : source.bytes) {
      result.add_bytes(from, edge.low, edge.high, copy_of(edge.to, kWithin));
    }
    for (const Nfa::CallEdge& edge : source.calls) {
      result.add_call(from, edge.rule, copy_of(edge.to, kWithin));
    }
  }
  result.add_empty(Nfa::kStart, copy_of(Nfa::kStart, kBefore));
  for (StateId phase = 0; phase < kPhases; ++phase) {
    result.add_empty(copy_of(Nfa::kAccept, phase), Nfa::kAccept);
  }
  return result;
}

}  // namespace kantha::grammar
