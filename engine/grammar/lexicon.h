#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace kantha::text {
class Tokenizer;
}

/// A vocabulary as a tree of its tokens' bytes, which a grammar walks to see what may come next.
namespace kantha::grammar {

/// Stands around a control token's name. No UTF-8 text has this byte, and other tokens that do
/// are left out, so that a control token is never mistaken for its letters.
inline constexpr unsigned char kControlMark = 0xFF;

/// One place in the tree, in preorder: a node's children follow it, and `after` is the first node
/// that is not below it.
struct LexiconNode {
  std::uint32_t after = 0;
  std::uint32_t first_token = 0;  ///< in tokens_at; those of the next node begin where these end
  unsigned char byte = 0;         ///< that leads here
  unsigned char depth = 0;        ///< bytes that lead here
  unsigned char height = 0;       ///< bytes of the longest way on; 255: as many or more
};

/// Immutable; any thread. Tokens without bytes are nowhere in it.
class Lexicon {
 public:
  /// `spellings` [vocabulary]: bytes of each token; "" for those that never come out of a grammar.
  explicit Lexicon(std::vector<std::string> spellings);
  /// A tokenizer's tokens; control tokens are their name between kControlMarks; end tokens, unused
  /// and unknown ones are left out.
  static std::shared_ptr<const Lexicon> of(const text::Tokenizer& tokenizer);

  std::int32_t vocabulary_size() const { return static_cast<std::int32_t>(spellings_.size()); }
  std::string_view bytes_of(TokenId id) const { return spellings_[static_cast<std::size_t>(id)]; }
  /// nodes()[0] is the root; a last one closes the list.
  std::span<const LexiconNode> nodes() const { return nodes_; }
  std::span<const TokenId> tokens_at(std::uint32_t node) const {
    const std::size_t begin = nodes_[node].first_token;
    return std::span(tokens_).subspan(begin, nodes_[node + 1].first_token - begin);
  }
  /// Tokens of at most so many bytes, up to kShortMax, as bits [(vocabulary + 63) / 64].
  static constexpr std::size_t kShortMax = 24;
  std::span<const std::uint64_t> tokens_up_to(std::size_t bytes) const {
    return std::span(short_).subspan(bytes * words(), words());
  }
  std::size_t words() const { return (spellings_.size() + 63) / 64; }
  /// Bytes that are tokens by themselves: whatever begins with them can be finished.
  const std::bitset<256>& single_bytes() const { return single_bytes_; }
  bool has_control_token(std::string_view spelling) const;
  /// Bytes of the longest token.
  std::size_t longest() const { return longest_; }

 private:
  void measure();

  std::vector<std::string> spellings_;
  std::vector<LexiconNode> nodes_;
  std::vector<TokenId> tokens_;
  std::bitset<256> single_bytes_;
  std::size_t longest_ = 0;
  std::vector<std::uint64_t> short_;  ///< [kShortMax + 1, words]
};

}  // namespace kantha::grammar
