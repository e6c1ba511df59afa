#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/grammar/nfa.h"

namespace kantha::grammar {

/// A rule: a name for errors, and what it matches.
struct Rule {
  std::string name;
  Nfa nfa = {};
};

/// The rules of one grammar while it is put together; they call each other by their ids.
class RuleSet {
 public:
  /// An empty rule, to be written by whoever asked for it.
  RuleId add(std::string name) {
    rules_.push_back({.name = std::move(name)});
    return static_cast<RuleId>(rules_.size() - 1);
  }
  /// Valid until the next add.
  Nfa& nfa(RuleId id) { return rules_[id].nfa; }
  void set(RuleId id, Nfa nfa) { rules_[id].nfa = std::move(nfa); }
  const std::vector<Rule>& rules() const { return rules_; }
  std::size_t size() const { return rules_.size(); }

 private:
  std::vector<Rule> rules_;
};

}  // namespace kantha::grammar
