#include "engine/grammar/program.h"

#include <algorithm>
#include <bitset>
#include <utility>

#include "engine/grammar/state_classes.h"

namespace kantha::grammar {
namespace {

constexpr StateId kNone = ~StateId{0};

/// Which rules may be empty: those whose end is reached by empty edges and calls of such rules.
Result<std::vector<bool>> empty_rules(const RuleSet& rules, Budget& budget) {
  std::vector<bool> empty(rules.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (RuleId rule = 0; rule < rules.size(); ++rule) {
      if (empty[rule]) continue;
      const Nfa& nfa = rules.rules()[rule].nfa;
      std::vector<bool> seen(nfa.size());
      std::vector<StateId> queue{Nfa::kStart};
      const auto reach = [&](StateId state) {
        if (seen[state]) return;
        seen[state] = true;
        queue.push_back(state);
      };
      seen[Nfa::kStart] = true;
      for (std::size_t i = 0; i < queue.size(); ++i) {
        const Nfa::State& state = nfa.states()[queue[i]];
        for (const Nfa::EmptyEdge& edge : state.empties) reach(edge.to);
        for (const Nfa::CallEdge& edge : state.calls) {
          if (empty[edge.rule]) reach(edge.to);
        }
      }
      TRY_OK(budget.work(queue.size()));
      if (!seen[Nfa::kAccept]) continue;
      empty[rule] = true;
      changed = true;
    }
  }
  return empty;
}

/// A rule's automaton, in which it is never empty, and whose start nothing leads back to.
Result<Dfa> rule_dfa(Nfa nfa, const std::vector<bool>& empty, Budget& budget) {
  for (StateId state = 0; state < nfa.size(); ++state) {
    const std::vector<Nfa::CallEdge> calls = nfa.states()[state].calls;
    for (const Nfa::CallEdge& edge : calls) {
      if (empty[edge.rule]) nfa.add_empty(state, edge.to);
    }
  }
  TRY(Dfa dfa, determinize(resolve_anchors(std::move(nfa)), budget));
  bool entered = false;
  for (const DfaState& state : dfa.states) {
    const auto enters = [](const auto& edge) { return edge.to == 0; };
    entered = entered || std::ranges::any_of(state.edges, enters) ||
              std::ranges::any_of(state.calls, enters);
  }
  if (entered) {
    // The old start stays as an ordinary state.
    const auto moved = static_cast<StateId>(dfa.states.size());
    dfa.states.push_back(dfa.states[0]);
    for (DfaState& state : dfa.states) {
      for (DfaEdge& edge : state.edges) edge.to = edge.to == 0 ? moved : edge.to;
      for (Nfa::CallEdge& edge : state.calls) edge.to = edge.to == 0 ? moved : edge.to;
    }
  }
  dfa.states[0].accepts = false;
  return dfa;
}

/// All rules' automata as one array of states, on their way to a program.
class Linker {
 public:
  Linker(const RuleSet& rules, RuleId root, const Lexicon& lexicon, std::string path,
         Budget& budget)
      : rules_(rules), root_(root), lexicon_(lexicon), path_(std::move(path)), budget_(budget) {}

  Result<std::unique_ptr<Program>> run() {
    TRY_OK(budget_.check_rules(rules_.size()));
    TRY(const std::vector<bool> empty, empty_rules(rules_, budget_));
    for (const Rule& rule : rules_.rules()) {
      TRY(Dfa dfa, rule_dfa(rule.nfa, empty, budget_));
      const auto base = static_cast<StateId>(states_.size());
      starts_.push_back(base);
      for (DfaState& state : dfa.states) {
        for (DfaEdge& edge : state.edges) edge.to += base;
        for (Nfa::CallEdge& edge : state.calls) edge.to += base;
        states_.push_back(std::move(state));
      }
      TRY_OK(budget_.check_states(states_.size()));
    }
    keep_spellable_bytes();
    mark_live();
    drop_dead();
    if (!live_[starts_[root_]] && !empty[root_]) {
      return invalid_argument(path_ + ": no answer can satisfy it", path_);
    }
    TRY_OK(check_left_recursion());
    auto program = std::make_unique<Program>();
    program->may_be_empty = empty[root_];
    flatten(*program);
    return program;
  }

 private:
  /// What begins with a byte that is no token of its own might not be spelt to its end.
  void keep_spellable_bytes() {
    const std::bitset<256>& known = lexicon_.single_bytes();
    std::bitset<256> needed = known;
    needed.reset(kControlMark);
    if (needed.count() == 255) return;
    for (DfaState& state : states_) {
      std::vector<DfaEdge> kept;
      for (const DfaEdge& edge : state.edges) keep_spellable(edge, known, kept);
      state.edges = std::move(kept);
    }
  }

  static void keep_spellable(const DfaEdge& edge, const std::bitset<256>& known,
                             std::vector<DfaEdge>& kept) {
    // A control token is one token, whatever its name is.
    bool open = false;
    for (unsigned byte = edge.low; byte <= edge.high; ++byte) {
      const bool keeps = known[byte] || byte == kControlMark;
      if (keeps && open) kept.back().high = static_cast<unsigned char>(byte);
      if (keeps && !open) {
        const auto at = static_cast<unsigned char>(byte);
        kept.push_back({at, at, edge.to});
      }
      open = keeps;
    }
  }

  /// States from which their rule can be finished, going backwards from ends.
  void mark_live() {
    live_.assign(states_.size(), false);
    std::vector<std::vector<StateId>> sources(states_.size());  // by bytes
    struct Caller {
      StateId from;
      RuleId rule;
    };
    std::vector<std::vector<Caller>> callers(states_.size());  // by where they go on
    std::vector<RuleId> rule_of(states_.size(), kNone);        // that starts there
    for (RuleId rule = 0; rule < starts_.size(); ++rule) rule_of[starts_[rule]] = rule;
    std::vector<StateId> queue;
    const auto mark = [&](StateId state) {
      if (live_[state]) return;
      live_[state] = true;
      queue.push_back(state);
    };
    for (StateId id = 0; id < states_.size(); ++id) {
      for (const DfaEdge& edge : states_[id].edges) sources[edge.to].push_back(id);
      for (const auto& edge : states_[id].calls) callers[edge.to].push_back({id, edge.rule});
    }
    // Calls that wait until their rule is known to be finishable.
    std::vector<std::vector<StateId>> waiting(starts_.size());
    for (StateId id = 0; id < states_.size(); ++id) {
      if (states_[id].accepts) mark(id);
    }
    while (!queue.empty()) {
      const StateId id = queue.back();
      queue.pop_back();
      for (const StateId source : sources[id]) mark(source);
      for (const Caller& caller : callers[id]) {
        if (live_[starts_[caller.rule]]) {
          mark(caller.from);
        } else {
          waiting[caller.rule].push_back(caller.from);
        }
      }
      if (rule_of[id] == kNone) continue;
      for (const StateId from : std::exchange(waiting[rule_of[id]], {})) mark(from);
    }
  }

  void drop_dead() {
    for (DfaState& state : states_) {
      std::erase_if(state.edges, [&](const DfaEdge& edge) { return !live_[edge.to]; });
      std::erase_if(state.calls, [&](const Nfa::CallEdge& edge) {
        return !live_[edge.to] || !live_[starts_[edge.rule]];
      });
    }
  }

  /// A rule that calls itself before it has taken a byte would do so for ever.
  Status check_left_recursion() const {
    enum Mark : char { kNew, kOpen, kDone };
    std::vector<Mark> marks(starts_.size(), kNew);
    struct Visit {
      RuleId rule;
      std::size_t next;
    };
    for (RuleId first = 0; first < starts_.size(); ++first) {
      if (marks[first] != kNew) continue;
      std::vector<Visit> stack{{first, 0}};
      marks[first] = kOpen;
      while (!stack.empty()) {
        Visit& visit = stack.back();
        const auto& calls = states_[starts_[visit.rule]].calls;
        if (visit.next == calls.size()) {
          marks[visit.rule] = kDone;
          stack.pop_back();
          continue;
        }
        const RuleId called = calls[visit.next++].rule;
        if (marks[called] == kOpen) {
          return invalid_argument(path_ + ": rule \"" + rules_.rules()[called].name +
                                      "\" begins with itself (left recursion)",
                                  path_);
        }
        if (marks[called] == kDone) continue;
        marks[called] = kOpen;
        stack.push_back({called, 0});
      }
    }
    return ok_status();
  }

  /// Numbers the states that are reached from the root.
  void flatten(Program& program) {
    std::vector<StateId> ids(states_.size(), kNone);
    std::vector<StateId> order;
    const auto id_of = [&](StateId state) {
      if (ids[state] == kNone) {
        ids[state] = static_cast<StateId>(order.size());
        order.push_back(state);
      }
      return ids[state];
    };
    program.start = id_of(starts_[root_]);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const DfaState& state = states_[order[i]];
      program.states.push_back({.first_edge = static_cast<std::uint32_t>(program.edges.size()),
                                .first_call = static_cast<std::uint32_t>(program.calls.size()),
                                .accepts = state.accepts});
      for (const DfaEdge& edge : state.edges) {
        program.edges.push_back({edge.low, edge.high, id_of(edge.to)});
      }
      for (const Nfa::CallEdge& edge : state.calls) {
        const DfaState& after = states_[edge.to];
        program.calls.push_back({.start = id_of(starts_[edge.rule]),
                                 .to = id_of(edge.to),
                                 .last = after.edges.empty() && after.calls.empty()});
      }
    }
    program.states.push_back({.first_edge = static_cast<std::uint32_t>(program.edges.size()),
                              .first_call = static_cast<std::uint32_t>(program.calls.size())});
  }

  const RuleSet& rules_;
  const RuleId root_;
  const Lexicon& lexicon_;
  const std::string path_;
  Budget& budget_;
  std::vector<DfaState> states_;
  std::vector<StateId> starts_;  // [rules]
  std::vector<bool> live_;
};

}  // namespace

std::size_t Program::memory_bytes() const {
  return states.size() * sizeof(State) + edges.size() * sizeof(DfaEdge) +
         calls.size() * sizeof(Call) + alike.size() * sizeof(StateId) + near.size() * sizeof(Near) +
         states.size() * sizeof(void*);
}

Result<std::unique_ptr<Program>> link(const RuleSet& rules, RuleId root,
                                      std::shared_ptr<const Lexicon> lexicon,
                                      const std::string& path, Budget& budget) {
  budget.set_place(path);
  TRY(auto program, Linker(rules, root, *lexicon, path, budget).run());
  program->lexicon = std::move(lexicon);
  find_alike(*program, program->lexicon->longest());
  program->masks.resize(program->states.size(), program->lexicon->words());
  return program;
}

}  // namespace kantha::grammar
