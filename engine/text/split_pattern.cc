#include "engine/text/split_pattern.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kantha::text {
namespace {

constexpr std::size_t kInstructionsMax = 20'000;
constexpr std::size_t kStatesMax = 8'000;
/// Signs after which a match looks for an endless run; most words are shorter.
constexpr std::size_t kLongMatch = 64;

enum class Action : std::uint8_t {
  kSign,   ///< takes a sign of set `a`
  kAhead,  ///< goes on when the next sign is of set `a`, or there is none and `b`
  kFork,   ///< to `a`, or else to `b`
  kMatch,
};

struct Instruction {
  Action action = Action::kMatch;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

/// The tree as instructions for a machine with threads in order of preference.
class ProgramWriter {
 public:
  Status write(const PatternNode& node) {
    if (program_.size() > kInstructionsMax) {
      return unimplemented("the pattern is too large", "splits");
    }
    switch (node.kind) {
      case PatternKind::kSet: add(Action::kSign, set_index(node.set)); break;
      case PatternKind::kAhead: add(Action::kAhead, set_index(node.set), node.at_end); break;
      case PatternKind::kSequence:
        for (const PatternNode& part : node.parts) TRY_OK(write(part));
        break;
      case PatternKind::kChoice: return write_choice(node);
      case PatternKind::kRepeat: return write_repeat(node);
    }
    return ok_status();
  }

  void finish() { add(Action::kMatch); }
  std::vector<Instruction>& program() { return program_; }
  const std::vector<CodeSet>& sets() const { return sets_; }

 private:
  std::uint32_t here() const { return static_cast<std::uint32_t>(program_.size()); }
  std::uint32_t add(Action action, std::uint32_t a = 0, std::uint32_t b = 0) {
    program_.push_back({action, a, b});
    return here() - 1;
  }

  std::uint32_t set_index(const CodeSet& set) {
    const auto same = [&](const CodeSet& other) {
      const auto left = set.ranges();
      const auto right = other.ranges();
      return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                        [](const CodeRange& x, const CodeRange& y) {
                          return x.first == y.first && x.last == y.last;
                        });
    };
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      if (same(sets_[i])) return static_cast<std::uint32_t>(i);
    }
    sets_.push_back(set);
    return static_cast<std::uint32_t>(sets_.size() - 1);
  }

  Status write_choice(const PatternNode& node) {
    std::vector<std::uint32_t> exits;
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
      const bool last = i + 1 == node.parts.size();
      const std::uint32_t fork = last ? 0 : add(Action::kFork);
      if (!last) program_[fork].a = here();
      TRY_OK(write(node.parts[i]));
      if (last) break;
      exits.push_back(add(Action::kFork));
      program_[fork].b = here();
    }
    for (const std::uint32_t at : exits) program_[at].a = program_[at].b = here();
    return ok_status();
  }

  Status write_repeat(const PatternNode& node) {
    const PatternNode& body = node.parts[0];
    for (std::int32_t i = 0; i < node.count_min; ++i) TRY_OK(write(body));
    if (node.count_max == kEndless) {
      const std::uint32_t fork = add(Action::kFork);
      program_[fork].a = here();
      TRY_OK(write(body));
      add(Action::kFork, fork, fork);
      program_[fork].b = here();
      return ok_status();
    }
    std::vector<std::uint32_t> forks;
    for (std::int32_t i = node.count_min; i < node.count_max; ++i) {
      forks.push_back(add(Action::kFork));
      program_[forks.back()].a = here();
      TRY_OK(write(body));
    }
    for (const std::uint32_t fork : forks) program_[fork].b = here();
    return ok_status();
  }

  std::vector<Instruction> program_;
  std::vector<CodeSet> sets_;
};

}  // namespace

/// All states that the machine can be in, and where each class of signs takes them. A state is the
/// list of its threads, best first; what a look-ahead needs is known one sign later, so that a
/// match shows in the step behind it.
class AutomatonBuilder {
 public:
  static Result<SplitPattern> build(const PatternNode& tree) {
    ProgramWriter writer;
    TRY_OK(writer.write(tree));
    writer.finish();
    AutomatonBuilder builder(std::move(writer.program()), writer.sets());
    if (builder.pattern_.classes_.count() > SignClasses::kCountMax) {
      return unimplemented("the pattern tells too many kinds of signs apart", "splits");
    }
    TRY_OK(builder.run());
    builder.note_leading_run(tree);
    return std::move(builder.pattern_);
  }

 private:
  using Threads = std::vector<std::uint32_t>;

  AutomatonBuilder(std::vector<Instruction> program, const std::vector<CodeSet>& sets)
      : program_(std::move(program)), pattern_(SignClasses(sets)), seen_(program_.size()) {
    const std::size_t classes = pattern_.classes_.count();
    pattern_.width_ = classes + 1;
    for (const CodeSet& set : sets) {
      std::vector<bool> row;
      for (std::size_t i = 0; i < classes; ++i) {
        row.push_back(set.contains(pattern_.classes_.sample(i)));
      }
      holds_.push_back(std::move(row));
    }
  }

  Status run() {
    add_state({});
    add_state({0});
    for (std::size_t state = 0; state < states_.size(); ++state) {
      if (states_.size() > kStatesMax) {
        return unimplemented("the pattern needs too many states", "splits");
      }
      for (std::size_t sign = 0; sign < pattern_.width_; ++sign) {
        const Threads from = states_[state];
        const auto [threads, matched] = step(from, sign);
        const std::uint16_t to = add_state(threads);
        pattern_.next_.push_back(matched ? to | SplitPattern::kMatched : to);
      }
    }
    return ok_status();
  }

  std::uint16_t add_state(const Threads& threads) {
    const auto next = static_cast<std::uint16_t>(states_.size());
    const auto [found, added] = known_.try_emplace(threads, next);
    if (added) states_.push_back(threads);
    return found->second;
  }

  /// What is left of the threads after a sign (of class `sign`; width_ − 1: the end), and whether
  /// one of them is a match before it. Threads behind that one no longer count.
  std::pair<Threads, bool> step(const Threads& from, std::size_t sign) {
    const bool end = sign + 1 == pattern_.width_;
    Threads out;
    ++round_;
    Threads stack(from.rbegin(), from.rend());
    while (!stack.empty()) {
      const std::uint32_t at = stack.back();
      stack.pop_back();
      if (seen_[at] == round_) continue;
      seen_[at] = round_;
      const Instruction& now = program_[at];
      switch (now.action) {
        case Action::kMatch: return {out, true};
        case Action::kFork:
          stack.push_back(now.b);
          stack.push_back(now.a);
          break;
        case Action::kAhead:
          if (end ? now.b != 0 : holds_[now.a][sign]) stack.push_back(at + 1);
          break;
        case Action::kSign:
          if (!end && holds_[now.a][sign]) out.push_back(at + 1);
          break;
      }
    }
    return {out, false};
  }

  void note_leading_run(const PatternNode& tree) {
    if (tree.kind != PatternKind::kSequence || tree.parts.empty()) return;
    const PatternNode& first = tree.parts[0];
    if (first.kind != PatternKind::kRepeat || first.count_max != kEndless) return;
    if (first.parts[0].kind != PatternKind::kSet) return;
    for (std::size_t i = 0; i < pattern_.classes_.count(); ++i) {
      pattern_.leading_run_.push_back(first.parts[0].set.contains(pattern_.classes_.sample(i)));
    }
  }

  std::vector<Instruction> program_;
  SplitPattern pattern_;
  std::vector<std::vector<bool>> holds_;  ///< [sets, classes]
  std::map<Threads, std::uint16_t> known_;
  std::vector<Threads> states_;
  std::vector<std::uint64_t> seen_;
  std::uint64_t round_ = 0;
};

Result<SplitPattern> SplitPattern::compile(std::string_view source) {
  TRY(const PatternNode tree, parse_pattern(source));
  return AutomatonBuilder::build(tree);
}

void SplitPattern::find_run(std::string_view text, std::size_t at, Sign sign, Run& run) const {
  if (at >= run.start && at < run.end) return;
  run = {at, at, at};
  while (run.end < text.size()) {
    const Sign next = classes_.at(text, run.end);
    if (next.sign_class != sign.sign_class) break;
    run.last = run.end;
    run.end += next.length;
  }
}

std::size_t SplitPattern::match_end(std::string_view text, std::size_t at, Run& run) const {
  std::size_t best = at;
  std::size_t state = 1;
  std::size_t steps = 0;
  for (std::size_t now = at; now < text.size();) {
    const Sign sign = classes_.at(text, now);
    const std::uint16_t next = next_[state * width_ + sign.sign_class];
    if ((next & kMatched) != 0) best = now;
    const std::size_t to = next & (kMatched - 1U);
    if (to == 0) return best;
    if (to == state && ++steps > kLongMatch) {
      // The state stays the same until the run ends; the last sign of the run decides the match.
      find_run(text, now, sign, run);
      if ((next & kMatched) != 0) best = run.last;
      now = run.end;
      continue;
    }
    state = to;
    now += sign.length;
  }
  if ((next_[state * width_ + width_ - 1] & kMatched) != 0) best = text.size();
  return best;
}

std::size_t SplitPattern::next_start(std::string_view text, std::size_t at) const {
  Sign sign = classes_.at(text, at);
  const bool runs = !leading_run_.empty() && leading_run_[sign.sign_class];
  do {
    at += sign.length;
    if (!runs || at >= text.size()) return at;
    sign = classes_.at(text, at);
  } while (leading_run_[sign.sign_class]);
  return at;
}

}  // namespace kantha::text
