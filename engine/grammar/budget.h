#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/grammar/wish.h"

namespace kantha::grammar {

/// What a compilation has cost so far, against its limits. One thread.
class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  const Limits& limits() const { return limits_; }
  /// What is compiled now: the place that an error names.
  void set_place(std::string path) { place_ = std::move(path); }
  const std::string& place() const { return place_; }

  /// Takes so many steps of work.
  Status work(std::size_t steps) {
    work_ += steps;
    if (work_ <= limits_.work_max) return ok_status();
    return too_large("steps to compile", limits_.work_max);
  }
  /// Checks a number of automaton states, those of one automaton or of all.
  Status check_states(std::size_t count) const {
    if (count <= limits_.states_max) return ok_status();
    return too_large("states", limits_.states_max);
  }
  Status check_rules(std::size_t count) const {
    if (count <= limits_.rules_max) return ok_status();
    return too_large("rules", limits_.rules_max);
  }
  /// Checks a count of repeats that `path`, or the keywords there, ask for.
  Status check_repeats(std::size_t count, const std::string& path,
                       const std::string& keywords = {}) const {
    if (count <= limits_.repeats_max) return ok_status();
    const std::string where = keywords.empty() ? path : path + ": " + keywords;
    return invalid_argument(where + ": expected at most " + std::to_string(limits_.repeats_max) +
                                " repeats, got " + std::to_string(count),
                            path);
  }
  Status check_depth(std::size_t depth, const std::string& path) const {
    if (depth <= limits_.depth_max) return ok_status();
    return invalid_argument(
        path + ": nested deeper than " + std::to_string(limits_.depth_max) + " levels", path);
  }
  Error too_large(std::string_view what, std::size_t limit) const {
    std::string message = place_.empty() ? "grammar" : place_;
    message += ": too large: more than " + std::to_string(limit) + " ";
    return invalid_argument(message.append(what), place_);
  }

 private:
  const Limits limits_;
  std::size_t work_ = 0;
  std::string place_;
};

}  // namespace kantha::grammar
