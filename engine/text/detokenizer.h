#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "engine/text/stop_matcher.h"
#include "engine/text/tokenizer.h"

/// Tokens to text for one stream: complete UTF-8 only, and nothing that may turn out to be a stop
/// string.
namespace kantha::text {

/// One request's output side. The text of all deltas joined equals the text of a whole decode up to
/// the stop string, whatever the split into tokens; bytes that are not UTF-8 show as U+FFFD. One
/// thread. Control tokens have no text. Cost and memory of a push depend on the token and the stop
/// strings, not on the text so far.
///
/// Of several stop strings in a text the one with the earliest start counts, and of those the
/// shortest. A stop string that began before another one and may still be completed is waited for.
class Detokenizer {
 public:
  /// `tokenizer` outlives this. `include_stop` keeps the stop string in the text. Stop strings are
  /// not empty (CHECK: the request is refused before).
  Detokenizer(const Tokenizer& tokenizer, std::vector<std::string> stop_strings,
              bool include_stop = false);

  /// Takes one more token; gives the text that is now safe to show.
  /// One that does not count for stop strings (`watched`) can neither begin nor be part of one.
  std::string push(TokenId id, bool watched = true);
  /// The same for bytes that are no token's.
  std::string push_bytes(std::string_view bytes, bool watched = true);
  /// Bytes of the stream that have been shown, a kept stop string included; what was neither shown
  /// nor is held was cut.
  std::size_t shown() const { return taken_; }
  /// True once a stop string has appeared; later pushes give "".
  bool stopped() const { return stopped_; }
  /// Which of the stop strings that was.
  std::optional<std::size_t> stopped_by() const {
    return stopped_ ? std::optional(found_->which) : std::nullopt;
  }
  /// What was held back, at the end of the generation; incomplete UTF-8 becomes U+FFFD. Decides a
  /// waiting stop string, so that stopped() may become true here.
  std::string flush();

 private:
  /// A stop string in the text; offsets count the stream's bytes.
  struct Found {
    std::size_t start = 0;
    std::size_t end = 0;
    std::size_t which = 0;
  };

  void take_byte(char byte, bool watched);
  std::size_t first_pending() const;
  std::string take_safe(bool final);

  const Tokenizer& tokenizer_;
  std::vector<StopMatcher> stops_;
  std::string held_;            ///< the stream's bytes from taken_ on
  std::size_t taken_ = 0;       ///< bytes already shown
  std::optional<Found> found_;  ///< the best stop string so far
  bool include_stop_ = false;
  bool stopped_ = false;
};

}  // namespace kantha::text
