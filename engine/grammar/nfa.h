#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace kantha::grammar {

using StateId = std::uint32_t;
using RuleId = std::uint32_t;

/// What an empty edge asks of its place.
enum class Anchor : std::uint8_t { kNone, kStart, kEnd };

/// An automaton over bytes that may call rules: what every front end writes into. State 0 is where
/// it starts and state 1 where it accepts.
class Nfa {
 public:
  struct ByteEdge {
    unsigned char low = 0;
    unsigned char high = 0;
    StateId to = 0;
  };
  struct EmptyEdge {
    Anchor anchor = Anchor::kNone;
    StateId to = 0;
  };
  struct CallEdge {
    RuleId rule = 0;
    StateId to = 0;
  };
  struct State {
    std::vector<ByteEdge> bytes = {};
    std::vector<EmptyEdge> empties = {};
    std::vector<CallEdge> calls = {};
  };
  static constexpr StateId kStart = 0;
  static constexpr StateId kAccept = 1;

  Nfa() : states_(2) {}

  StateId add_state();
  void add_bytes(StateId from, unsigned char low, unsigned char high, StateId to) {
    states_[from].bytes.push_back({low, high, to});
  }
  void add_empty(StateId from, StateId to, Anchor anchor = Anchor::kNone);
  void add_call(StateId from, RuleId rule, StateId to) {
    states_[from].calls.push_back({rule, to});
  }
  /// The bytes of a text, one after the other.
  void add_text(StateId from, std::string_view text, StateId to);

  const std::vector<State>& states() const { return states_; }
  std::size_t size() const { return states_.size(); }

 private:
  std::vector<State> states_;
  bool has_anchors_ = false;

  friend Nfa resolve_anchors(Nfa nfa);
};

/// The same language without anchors: kStart edges only before the first byte, and after a kEnd
/// edge no byte any more.
Nfa resolve_anchors(Nfa nfa);

}  // namespace kantha::grammar
