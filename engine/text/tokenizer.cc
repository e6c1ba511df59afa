#include "engine/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/text/blank_signs.h"
#include "engine/text/special_tokens.h"
#include "engine/text/text_encoder.h"
#include "engine/text/unicode_normal.h"

namespace kantha::text {
namespace {

/// Control tokens that end a turn or a text in the chat formats in use, whatever the file calls
/// its eos.
constexpr std::array<std::string_view, 12> kEndNames = {
    "<|im_end|>",    "<|eot_id|>",    "<|eom_id|>",      "<|end|>",
    "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<|end_of_turn|>",
    "<turn|>",       "<|return|>",    "<|call|>",        "<|eot|>",
};

/// A part of a joined prompt that the template wrote: bytes start..end.
struct TrustedStretch {
  std::size_t start = 0;
  std::size_t end = 0;
};

Status check_id(const std::optional<TokenId>& id, std::size_t count, std::string_view name) {
  if (!id || (*id >= 0 && static_cast<std::size_t>(*id) < count)) return ok_status();
  return invalid_argument(std::string(name) + ": expected a token id below " +
                          std::to_string(count) + ", got " + std::to_string(*id));
}

Status check_shape(const Vocabulary& vocabulary) {
  const std::size_t count = vocabulary.tokens.size();
  if (count == 0 || count > (1u << 30)) {
    return invalid_argument("tokens: expected between 1 and 2^30 entries, got " +
                            std::to_string(count));
  }
  if (vocabulary.types.size() != count) {
    return invalid_argument("token types: expected " + std::to_string(count) + " entries, got " +
                            std::to_string(vocabulary.types.size()));
  }
  for (std::size_t i = 0; i < vocabulary.scores.size(); ++i) {
    if (std::isfinite(vocabulary.scores[i])) continue;
    return invalid_argument("scores[" + std::to_string(i) + "]: expected a finite number");
  }
  TRY_OK(check_id(vocabulary.bos, count, "bos"));
  TRY_OK(check_id(vocabulary.eos, count, "eos"));
  TRY_OK(check_id(vocabulary.eot, count, "eot"));
  TRY_OK(check_id(vocabulary.unknown, count, "unknown"));
  return check_id(vocabulary.padding, count, "padding");
}

Result<std::unique_ptr<TextEncoder>> make_encoder(const TokenTable& table) {
  const std::string& model = table.vocabulary.model;
  if (model == "gpt2") return make_byte_pair_encoder(table);
  if (model == "llama") return make_score_encoder(table);
  if (model == "gemma4") return make_character_pair_encoder(table);
  if (model == "t5") return make_unigram_encoder(table);
  if (model == "bert") return make_word_piece_encoder(table);
  return unimplemented(
      "tokenizer model \"" + model + "\" is not known; known are gpt2, llama, gemma4, t5, bert",
      "tokenizer.ggml.model");
}

}  // namespace

struct Tokenizer::Body {
  explicit Body(Vocabulary from) : table(std::move(from)) {}

  void index_tokens();
  void find_end_tokens();
  void encode_plain(std::string_view text, bool first, std::vector<TokenId>& out) const;
  std::vector<TokenId> encode(std::string_view text, std::span<const TrustedStretch> trusted) const;

  TokenTable table;
  std::unique_ptr<TextEncoder> encoder;  ///< borrows from table
  SpecialTokens specials;
  std::string bytes;                      ///< raw bytes of all tokens, one after the other
  std::vector<std::size_t> bytes_starts;  ///< [tokens + 1] offsets into bytes
  std::vector<TokenId> ends;
  bool strips_blank = false;  ///< decode() takes the first blank away again
};

void Tokenizer::Body::index_tokens() {
  const Vocabulary& vocabulary = table.vocabulary;
  bytes_starts.push_back(0);
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const TokenType type = vocabulary.types[i];
    const auto id = static_cast<TokenId>(i);
    const bool everywhere = type == TokenType::kUserDefined;
    if (table.is_control(id) || everywhere) specials.add(vocabulary.tokens[i], id, everywhere);
    if (!table.is_control(id)) encoder->append_bytes(id, bytes);
    bytes_starts.push_back(bytes.size());
  }
}

void Tokenizer::Body::find_end_tokens() {
  const Vocabulary& vocabulary = table.vocabulary;
  if (vocabulary.eos) ends.push_back(*vocabulary.eos);
  if (vocabulary.eot) ends.push_back(*vocabulary.eot);
  ends.insert(ends.end(), vocabulary.ends.begin(), vocabulary.ends.end());
  for (const std::string_view name : kEndNames) {
    const auto found = table.by_text.find(name);
    if (found == table.by_text.end()) continue;
    const auto index = static_cast<std::size_t>(found->second);
    if (vocabulary.types[index] == TokenType::kControl) ends.push_back(found->second);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

void Tokenizer::Body::encode_plain(std::string_view text, bool first,
                                   std::vector<TokenId>& out) const {
  if (text.empty()) return;
  if (!table.vocabulary.nfc) return encoder->encode(text, first, out);
  encoder->encode(normal_form_c(text), first, out);
}

std::vector<TokenId> Tokenizer::Body::encode(std::string_view text,
                                             std::span<const TrustedStretch> trusted) const {
  std::vector<TokenId> out;
  std::size_t plain_start = 0;
  auto stretch = trusted.begin();
  for (std::size_t at = 0; at < text.size();) {
    while (stretch != trusted.end() && stretch->end <= at) ++stretch;
    const bool inside = stretch != trusted.end() && stretch->start <= at;
    const auto match = specials.match(text, at, inside ? stretch->end : at);
    if (!match) {
      ++at;
      continue;
    }
    encode_plain(text.substr(plain_start, at - plain_start), plain_start == 0, out);
    out.push_back(match->id);
    at += match->length;
    plain_start = at;
  }
  encode_plain(text.substr(plain_start), plain_start == 0, out);
  return out;
}

Tokenizer::Tokenizer(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::build(Vocabulary vocabulary) {
  TRY_OK(check_shape(vocabulary));
  auto body = std::make_unique<Body>(std::move(vocabulary));
  TRY(body->encoder, make_encoder(body->table));
  body->strips_blank =
      body->table.vocabulary.model == "bert" || adds_blank(body->table.vocabulary, /*first=*/true);
  body->index_tokens();
  body->find_end_tokens();
  return Tokenizer(std::move(body));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool parse_special) const {
  const TrustedStretch all{0, text.size()};
  const std::span<const TrustedStretch> trusted(&all, parse_special ? 1 : 0);
  return body_->encode(text, trusted);
}

std::vector<TokenId> Tokenizer::encode(std::span<const PromptPiece> pieces) const {
  std::string text;
  std::vector<TrustedStretch> trusted;
  for (const PromptPiece& piece : pieces) {
    const std::size_t start = text.size();
    text += piece.text;
    if (piece.from_input || piece.text.empty()) continue;
    const bool follows = !trusted.empty() && trusted.back().end == start;
    if (follows) {
      trusted.back().end = text.size();
    } else {
      trusted.push_back({start, text.size()});
    }
  }
  return body_->encode(text, trusted);
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool with_special) const {
  std::string text;
  bool strips = body_->strips_blank;
  for (const TokenId id : ids) {
    std::string_view piece = is_control(id) ? std::string_view() : bytes_of(id);
    if (is_control(id) && with_special) piece = vocabulary().tokens[static_cast<std::size_t>(id)];
    // The blank that encode() put in front of the whole is none of the text.
    if (strips && piece.starts_with(' ')) piece.remove_prefix(1);
    strips = strips && piece.empty() && is_control(id);
    text += piece;
  }
  return text;
}

std::string_view Tokenizer::spelling(TokenId id) const {
  if (!is_control(id)) return bytes_of(id);
  return vocabulary().tokens[static_cast<std::size_t>(id)];
}

std::string_view Tokenizer::bytes_of(TokenId id) const {
  CHECK(id >= 0 && id < size(), "a token id of the vocabulary");
  const auto index = static_cast<std::size_t>(id);
  const std::size_t start = body_->bytes_starts[index];
  return std::string_view(body_->bytes).substr(start, body_->bytes_starts[index + 1] - start);
}

bool Tokenizer::is_control(TokenId id) const {
  CHECK(id >= 0 && id < size(), "a token id of the vocabulary");
  return body_->table.is_control(id);
}

std::span<const TokenId> Tokenizer::end_tokens() const { return body_->ends; }
const Vocabulary& Tokenizer::vocabulary() const { return body_->table.vocabulary; }
std::int32_t Tokenizer::size() const {
  return static_cast<std::int32_t>(body_->table.vocabulary.tokens.size());
}

}  // namespace kantha::text
