#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "engine/text/split_pattern.h"

/// Cuts text into the words that byte-pair merging works within ("pre-tokenization").
///
/// The steps are the regular expressions of the published tokenizers, each applied to every stretch
/// that the steps before it left together; a match is a word, and so is what stands between two
/// matches. Matching never goes back, so that the time is linear for the patterns in use.
namespace kantha::text {

/// Three published expressions look along a whole run of digits, to cut it into threes from its
/// right end; they are known by their text and done by hand.
inline constexpr std::string_view kThreesCut = R"((?=(\d{3})+(?!\d)))";
inline constexpr std::string_view kThreesBeforeBorder = R"(\d{1,3}(?=(?:\d{3})*\b))";
inline constexpr std::string_view kThreesOfNumbers = R"(\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})))";

/// Immutable; any thread.
class WordSplitter {
 public:
  /// One step per expression; see split_pattern.h for what they may hold.
  static Result<WordSplitter> build(std::span<const std::string> patterns);

  /// End offsets of the words of `text`, ascending, the last one text.size(). A byte that is not
  /// part of valid UTF-8 counts as one sign that is neither letter, number nor space.
  std::vector<std::size_t> split(std::string_view text) const;

 private:
  /// Digits in groups of three from the right end of their run.
  struct Threes {
    SignClasses digits;         ///< class of a digit, of another sign of words, of the rest
    bool isolates = true;       ///< cuts around the run too, not only inside
    bool needs_border = false;  ///< only runs that no letter or mark follows
  };
  using Step = std::variant<SplitPattern, Threes>;

  void split_stretch(std::string_view text, std::size_t start, std::size_t end, std::size_t step,
                     std::vector<std::size_t>& ends) const;
  void split_threes(const Threes& threes, std::string_view text, std::size_t start, std::size_t end,
                    const std::function<void(std::size_t)>& cut) const;

  std::vector<Step> steps_;
};

}  // namespace kantha::text
