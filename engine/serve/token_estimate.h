#pragma once

#include <cstdint>

namespace kantha::serve {

/// Guesses how many tokens a text has from its bytes, and learns from texts that were tokenised:
/// scripts and vocabularies differ by a factor of eight. Pure; one thread.
class TokenEstimate {
 public:
  /// At least 1 for any text.
  std::int64_t tokens(std::int64_t bytes) const;
  /// So many bytes were so many tokens. Short texts are ignored: a chat template's own tokens would
  /// count as theirs.
  void learn(std::int64_t bytes, std::int64_t tokens);
  double bytes_per_token() const { return bytes_ / tokens_; }

 private:
  // Ordinary English to begin with, worth one page.
  double bytes_ = 4096;
  double tokens_ = 1024;
};

}  // namespace kantha::serve
