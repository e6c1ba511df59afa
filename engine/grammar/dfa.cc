#include "engine/grammar/dfa.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace kantha::grammar {
namespace {

using StateSet = std::vector<StateId>;

struct SetHash {
  std::size_t operator()(const StateSet& set) const {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const StateId state : set) hash = (hash ^ state) * 0x100000001b3;
    return static_cast<std::size_t>(hash ^ (hash >> 29));
  }
};

/// Subset construction.
class Determinizer {
 public:
  Determinizer(const Nfa& nfa, Budget& budget) : nfa_(nfa), budget_(budget), seen_(nfa.size(), 0) {}

  Result<Dfa> run() {
    TRY_OK(budget_.work(nfa_.size()));
    id_of({Nfa::kStart});
    for (StateId id = 0; id < dfa_.states.size(); ++id) {
      TRY_OK(budget_.check_states(dfa_.states.size()));
      const StateSet set = *sets_[id];
      dfa_.states[id].accepts = std::ranges::binary_search(set, Nfa::kAccept);
      TRY_OK(add_byte_edges(id, set));
      add_call_edges(id, set);
    }
    return std::move(dfa_);
  }

 private:
  /// All that empty edges reach, sorted.
  StateSet closure(StateSet set) {
    ++stamp_;
    for (const StateId state : set) seen_[state] = stamp_;
    for (std::size_t i = 0; i < set.size(); ++i) {
      for (const Nfa::EmptyEdge& edge : nfa_.states()[set[i]].empties) {
        if (std::exchange(seen_[edge.to], stamp_) != stamp_) set.push_back(edge.to);
      }
    }
    steps_ += set.size();
    std::ranges::sort(set);
    return set;
  }

  StateId id_of(StateSet targets) {
    std::ranges::sort(targets);
    targets.erase(std::ranges::unique(targets).begin(), targets.end());
    const auto known = by_targets_.find(targets);
    if (known != by_targets_.end()) return known->second;
    const auto [at, fresh] =
        ids_.try_emplace(closure(targets), static_cast<StateId>(dfa_.states.size()));
    if (fresh) {
      sets_.push_back(&at->first);
      dfa_.states.emplace_back();
    }
    by_targets_.emplace(std::move(targets), at->second);
    return at->second;
  }

  Status add_byte_edges(StateId id, const StateSet& set) {
    std::array<bool, 257> cuts{};
    std::vector<Nfa::ByteEdge> edges;
    for (const StateId state : set) {
      for (const Nfa::ByteEdge& edge : nfa_.states()[state].bytes) {
        edges.push_back(edge);
        cuts[edge.low] = true;
        cuts[edge.high + 1U] = true;
      }
    }
    if (edges.empty()) return ok_status();
    std::ranges::sort(edges, {}, &Nfa::ByteEdge::low);
    for (unsigned low = edges.front().low; low < 256;) {
      unsigned high = low;
      while (high < 255 && !cuts[high + 1]) ++high;
      StateSet targets;
      for (const Nfa::ByteEdge& edge : edges) {
        if (edge.low > low) break;
        if (edge.high >= low) targets.push_back(edge.to);
      }
      steps_ += targets.size() + 1;
      if (!targets.empty()) add_edge(id, low, high, id_of(std::move(targets)));
      low = high + 1;
    }
    steps_ += edges.size();
    return budget_.work(std::exchange(steps_, 0));
  }

  void add_edge(StateId id, unsigned low, unsigned high, StateId to) {
    std::vector<DfaEdge>& edges = dfa_.states[id].edges;
    if (!edges.empty() && edges.back().to == to && edges.back().high + 1U == low) {
      edges.back().high = static_cast<unsigned char>(high);
    } else {
      edges.push_back({static_cast<unsigned char>(low), static_cast<unsigned char>(high), to});
    }
  }

  void add_call_edges(StateId id, const StateSet& set) {
    std::map<RuleId, StateSet> targets;
    for (const StateId state : set) {
      for (const Nfa::CallEdge& edge : nfa_.states()[state].calls) {
        targets[edge.rule].push_back(edge.to);
      }
    }
    for (auto& [rule, to] : targets) {
      const StateId target = id_of(std::move(to));
      dfa_.states[id].calls.push_back({rule, target});
    }
  }

  const Nfa& nfa_;
  Budget& budget_;
  Dfa dfa_;
  std::unordered_map<StateSet, StateId, SetHash> ids_;         // by closure
  std::unordered_map<StateSet, StateId, SetHash> by_targets_;  // before it
  std::vector<const StateSet*> sets_;
  std::vector<std::uint32_t> seen_;
  std::uint32_t stamp_ = 0;
  std::size_t steps_ = 0;
};

std::optional<StateId> next_state(const DfaState& state, unsigned char byte) {
  const auto at = std::ranges::lower_bound(state.edges, byte, {}, &DfaEdge::high);
  if (at == state.edges.end() || at->low > byte) return std::nullopt;
  return at->to;
}

/// Pairs of states of two automata; the second one may have died.
class Product {
 public:
  static constexpr StateId kDead = ~StateId{0};

  Product(const Dfa& a, const Dfa& b, bool subtract, Budget& budget)
      : a_(a), b_(b), subtract_(subtract), budget_(budget) {}

  Result<Dfa> run() {
    if (a_.states.empty()) return Dfa{};
    id_of({0, b_.states.empty() ? kDead : 0});
    for (StateId id = 0; id < pairs_.size(); ++id) {
      TRY_OK(budget_.check_states(pairs_.size()));
      TRY_OK(budget_.work(8));
      const auto [a, b] = pairs_[id];
      const bool other = b != kDead && b_.states[b].accepts;
      dfa_.states[id].accepts = a_.states[a].accepts && other != subtract_;
      for (const DfaEdge& edge : a_.states[a].edges) add_edges(id, edge, b);
    }
    return trim(dfa_);
  }

 private:
  /// The edge of `a`, cut where the edges of `b` begin and end.
  void add_edges(StateId id, const DfaEdge& edge, StateId b) {
    unsigned low = edge.low;
    if (b != kDead) {
      for (const DfaEdge& other : b_.states[b].edges) {
        if (other.high < low) continue;
        if (other.low > edge.high) break;
        if (other.low > low) add_edge(id, low, other.low - 1U, edge.to, kDead);
        const unsigned begin = std::max<unsigned>(low, other.low);
        const unsigned end = std::min(edge.high, other.high);
        add_edge(id, begin, end, edge.to, other.to);
        low = end + 1;
      }
    }
    if (low <= edge.high) add_edge(id, low, edge.high, edge.to, kDead);
  }

  void add_edge(StateId id, unsigned low, unsigned high, StateId a, StateId b) {
    if (b == kDead && !subtract_) return;
    const StateId to = id_of({a, b});
    dfa_.states[id].edges.push_back(
        {static_cast<unsigned char>(low), static_cast<unsigned char>(high), to});
  }

  StateId id_of(std::pair<StateId, StateId> pair) {
    const auto [at, fresh] = ids_.try_emplace(pair, static_cast<StateId>(pairs_.size()));
    if (fresh) {
      pairs_.push_back(pair);
      dfa_.states.emplace_back();
    }
    return at->second;
  }

  const Dfa& a_;
  const Dfa& b_;
  const bool subtract_;
  Budget& budget_;
  Dfa dfa_;
  std::map<std::pair<StateId, StateId>, StateId> ids_;
  std::vector<std::pair<StateId, StateId>> pairs_;
};

/// States from which an accepting one can be reached.
std::vector<bool> live_states(const Dfa& dfa) {
  std::vector<std::vector<StateId>> sources(dfa.states.size());
  std::vector<bool> live(dfa.states.size());
  std::vector<StateId> queue;
  for (StateId id = 0; id < dfa.states.size(); ++id) {
    for (const DfaEdge& edge : dfa.states[id].edges) sources[edge.to].push_back(id);
    if (!dfa.states[id].accepts) continue;
    live[id] = true;
    queue.push_back(id);
  }
  while (!queue.empty()) {
    const StateId id = queue.back();
    queue.pop_back();
    for (const StateId source : sources[id]) {
      if (live[source]) continue;
      live[source] = true;
      queue.push_back(source);
    }
  }
  return live;
}

}  // namespace

bool Dfa::accepts(std::string_view text) const {
  if (states.empty()) return false;
  StateId state = 0;
  for (const char c : text) {
    const auto next = next_state(states[state], static_cast<unsigned char>(c));
    if (!next) return false;
    state = *next;
  }
  return states[state].accepts;
}

Result<Dfa> determinize(const Nfa& nfa, Budget& budget) { return Determinizer(nfa, budget).run(); }

Dfa trim(const Dfa& dfa) {
  const std::vector<bool> live = live_states(dfa);
  Dfa result;
  if (dfa.states.empty() || !live[0]) return result;
  std::vector<StateId> ids(dfa.states.size());
  for (StateId id = 0, next = 0; id < dfa.states.size(); ++id) {
    if (live[id]) ids[id] = next++;
  }
  for (StateId id = 0; id < dfa.states.size(); ++id) {
    if (!live[id]) continue;
    DfaState& state = result.states.emplace_back();
    state.accepts = dfa.states[id].accepts;
    for (const DfaEdge& edge : dfa.states[id].edges) {
      if (live[edge.to]) state.edges.push_back({edge.low, edge.high, ids[edge.to]});
    }
  }
  return result;
}

Result<Dfa> both(const Dfa& a, const Dfa& b, Budget& budget) {
  return Product(a, b, /*subtract=*/false, budget).run();
}

Result<Dfa> difference(const Dfa& a, const Dfa& b, Budget& budget) {
  return Product(a, b, /*subtract=*/true, budget).run();
}

void embed(const Dfa& dfa, Nfa& nfa, StateId from, StateId to) {
  std::vector<StateId> ids;
  ids.reserve(dfa.states.size());
  for (std::size_t i = 0; i < dfa.states.size(); ++i) ids.push_back(nfa.add_state());
  if (!ids.empty()) nfa.add_empty(from, ids.front());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (const DfaEdge& edge : dfa.states[i].edges) {
      nfa.add_bytes(ids[i], edge.low, edge.high, ids[edge.to]);
    }
    if (dfa.states[i].accepts) nfa.add_empty(ids[i], to);
  }
}

}  // namespace kantha::grammar
