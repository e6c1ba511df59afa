#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/text/vocabulary.h"

/// Text to token ids and back. Immutable after build; any thread.
namespace kantha::text {

/// A stretch of a prompt. Control tokens are recognised only in stretches that the template wrote,
/// so that what a user types is never a turn boundary.
struct PromptPiece {
  std::string text;
  bool from_input = false;  ///< came from a message, a tool result or a name
};

class Tokenizer {
 public:
  /// kUnimplemented names an unknown `model` or `pre`, or what of `splits` is not known;
  /// kInvalidArgument names the bad entry.
  static Result<Tokenizer> build(Vocabulary vocabulary);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// Ids of the text; with `parse_special`, control tokens' literal text becomes their id. Adds no
  /// BOS by itself. Time is near linear in the length, also for one endless word.
  std::vector<TokenId> encode(std::string_view text, bool parse_special) const;
  /// Ids of a rendered prompt: pieces are joined as one text, control tokens only from the
  /// template's own.
  std::vector<TokenId> encode(std::span<const PromptPiece> pieces) const;
  /// Text of the ids; control tokens are left out unless `with_special`. Invalid UTF-8 stays as
  /// bytes. A blank that encode() would have put in front is taken away, once, when nothing stands
  /// before it.
  std::string decode(std::span<const TokenId> ids, bool with_special) const;
  /// What one token looks like, also a control token; bytes, which may be part of a code point.
  std::string_view spelling(TokenId id) const;
  /// Raw bytes of one token ("" for control tokens). CHECKs the range.
  std::string_view bytes_of(TokenId id) const;
  bool is_control(TokenId id) const;
  /// Ids that end a generation: eos, eot and the model's other end-of-turn tokens.
  std::span<const TokenId> end_tokens() const;
  const Vocabulary& vocabulary() const;
  std::int32_t size() const;

 private:
  struct Body;
  explicit Tokenizer(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace kantha::text
