#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/text/pattern_tree.h"
#include "engine/text/sign_classes.h"

/// The regular expressions of tokenizers, run without backtracking.
///
/// Known: signs and escapes (\s \S \d \D \w \W \n \r \t \v \f \0 \xHH \x{…} \uHHHH \p{…} \P{…} with
/// L Lu Ll Lt Lm Lo M Mn N Nd P S Cc Han), [classes] with ranges, ^, nested ones and &&, . (not a
/// line break), groups ( ) (?: ) (?i: ), |, * + ? {n} {n,} {n,m} as often as possible, possessive
/// *+ ++ ?+ where they mean the same, look-ahead (?= ) (?! ) at one sign, and $ as the end of what
/// is split. Of several matches the one that a backtracking matcher would find first counts, as in
/// the reference. Everything else is refused by name.
namespace kantha::text {

/// A pattern compiled to a table of states: one read per sign. Immutable; any thread.
class SplitPattern {
 public:
  /// kInvalidArgument for a mistake, kUnimplemented for what is not known; both show the place.
  static Result<SplitPattern> compile(std::string_view source);

  /// Where a run of signs of one class ends, remembered between matches on one text, so that many
  /// matches that all look along one endless run cost no more than it is long.
  struct Run {
    std::size_t start = 0;
    std::size_t last = 0;  ///< where its last sign begins
    std::size_t end = 0;
  };

  /// End of the match that begins at `at`; `at` itself when there is none, or an empty one.
  std::size_t match_end(std::string_view text, std::size_t at, Run& run) const;
  /// Where the next match can begin when there is none at `at`.
  std::size_t next_start(std::string_view text, std::size_t at) const;
  std::size_t state_count() const { return next_.size() / width_; }

 private:
  friend class AutomatonBuilder;
  static constexpr std::uint16_t kMatched = 0x8000;  ///< the text before this sign is a match

  explicit SplitPattern(SignClasses classes) : classes_(std::move(classes)) {}
  void find_run(std::string_view text, std::size_t at, Sign sign, Run& run) const;

  SignClasses classes_;
  std::size_t width_ = 0;            ///< classes, and one for the end of the text
  std::vector<std::uint16_t> next_;  ///< [states, width_]; state 0 is a dead end, 1 the start
  /// Of each class whether it belongs to the endless repeat that the pattern begins with: a failure
  /// in such a run is a failure from everywhere in it. Empty when it does not begin so.
  std::vector<bool> leading_run_;
};

}  // namespace kantha::text
