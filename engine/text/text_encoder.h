#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/text/vocabulary.h"

/// What each kind of tokenizer does with plain text.
namespace kantha::text {

/// A vocabulary with what all kinds look up in it. The maps' views borrow from it.
struct TokenTable {
  explicit TokenTable(Vocabulary from);
  TokenTable(const TokenTable&) = delete;
  TokenTable& operator=(const TokenTable&) = delete;

  /// The token that text may become: control, unknown and byte tokens are none. -1: there is none.
  TokenId plain_token(std::string_view text) const;
  bool is_control(TokenId id) const;

  Vocabulary vocabulary;
  std::unordered_map<std::string_view, TokenId> by_text;  ///< the first of equal ones
  std::array<TokenId, 256> byte_tokens{};                 ///< <0xHH>; -1: there is none
  std::size_t longest = 0;                                ///< bytes of the longest token
};

/// Immutable; any thread.
class TextEncoder {
 public:
  TextEncoder() = default;
  TextEncoder(const TextEncoder&) = delete;
  TextEncoder& operator=(const TextEncoder&) = delete;
  virtual ~TextEncoder() = default;

  /// Appends the ids of text without control tokens, which stands at the start of the whole
  /// (`first`) or behind a token that was found by name. Not called for an empty text. Time near
  /// linear in the length.
  virtual void encode(std::string_view text, bool first, std::vector<TokenId>& out) const = 0;
  /// Appends the bytes that a token stands for; not called for control tokens.
  virtual void append_bytes(TokenId id, std::string& out) const = 0;
};

/// A score for each token. kInvalidArgument with both counts.
Status check_scores(const Vocabulary& vocabulary);

/// Blanks as SentencePiece writes them.
inline constexpr std::string_view kBlankSign = "\u2581";

/// Byte-level BPE ("gpt2").
Result<std::unique_ptr<TextEncoder>> make_byte_pair_encoder(const TokenTable& table);
/// SentencePiece BPE by scores ("llama").
Result<std::unique_ptr<TextEncoder>> make_score_encoder(const TokenTable& table);
/// BPE by merges over characters with byte tokens ("gemma4").
Result<std::unique_ptr<TextEncoder>> make_character_pair_encoder(const TokenTable& table);
/// SentencePiece unigram ("t5").
Result<std::unique_ptr<TextEncoder>> make_unigram_encoder(const TokenTable& table);
/// WordPiece ("bert").
Result<std::unique_ptr<TextEncoder>> make_word_piece_encoder(const TokenTable& table);

}  // namespace kantha::text
