#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "engine/text/tokenizer.h"

/// Tokens to text for one stream: complete UTF-8 only, and nothing that may turn out to be a stop string.
namespace kantha::text {

/// One request's output side. The text of all deltas joined equals the text of a whole decode up to
/// the stop string, whatever the split into tokens. One thread.
class Detokenizer {
 public:
  /// `tokenizer` outlives this. `include_stop` keeps the stop string in the text.
  Detokenizer(const Tokenizer& tokenizer, std::vector<std::string> stop_strings,
              bool include_stop = false);

  /// Takes one more token; gives the text that is now safe to show.
  std::string push(TokenId id);
  /// True once a stop string has appeared; later pushes give "".
  bool stopped() const { return stopped_; }
  /// What was held back, at the end of the generation; incomplete UTF-8 becomes U+FFFD.
  std::string flush();

 private:
  std::string take_safe();

  const Tokenizer& tokenizer_;
  std::vector<std::string> stops_;
  std::string held_;
  bool include_stop_ = false;
  bool stopped_ = false;
};

}  // namespace kantha::text
