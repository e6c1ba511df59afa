#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"

/// Which tokens a text begins with.
namespace kantha::text {

/// Tokens sorted by their bytes; a search narrows a range of them byte by byte, so that all that
/// begin at one place cost one walk. Borrows the texts. Immutable after sort; any thread.
class TokenPrefixes {
 public:
  void add(std::string_view token, TokenId id) { tokens_.emplace_back(token, id); }
  /// To be called once, after the last add. Of equal tokens the one with the lowest id stays.
  void sort();

  /// Walks along one text from one place on.
  class Walk {
   public:
    explicit Walk(const TokenPrefixes& prefixes)
        : tokens_(prefixes.tokens_), low_(0), high_(prefixes.tokens_.size()) {}
    /// One byte further. False when no token goes on like this.
    bool step(char byte);
    /// The token that ends here; -1: none does.
    TokenId token() const;

   private:
    const std::vector<std::pair<std::string_view, TokenId>>& tokens_;
    std::size_t low_;
    std::size_t high_;
    std::size_t depth_ = 0;
  };

 private:
  std::vector<std::pair<std::string_view, TokenId>> tokens_;
};

}  // namespace kantha::text
