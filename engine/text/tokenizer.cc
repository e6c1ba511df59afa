#include "engine/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "engine/text/byte_alphabet.h"
#include "engine/text/merge_table.h"
#include "engine/text/special_tokens.h"
#include "engine/text/word_merger.h"
#include "engine/text/word_splitter.h"

namespace kantha::text {
namespace {

/// Control tokens that end a turn or a text in the chat formats in use, whatever the file calls
/// its eos.
constexpr std::array<std::string_view, 8> kEndNames = {
    "<|im_end|>",    "<|eot_id|>",    "<|eom_id|>",      "<|end|>",
    "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<|end_of_turn|>",
};

bool is_control_type(TokenType type) {
  return type == TokenType::kControl || type == TokenType::kUnknown;
}

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
  if (vocabulary.model != "gpt2") {
    return unimplemented("tokenizer model \"" + vocabulary.model + "\": only \"gpt2\" is known",
                         "tokenizer.ggml.model");
  }
  const std::size_t count = vocabulary.tokens.size();
  if (count == 0 || count > (1u << 30)) {
    return invalid_argument("tokens: expected between 1 and 2^30 entries, got " +
                            std::to_string(count));
  }
  if (vocabulary.types.size() != count) {
    return invalid_argument("token types: expected " + std::to_string(count) + " entries, got " +
                            std::to_string(vocabulary.types.size()));
  }
  TRY_OK(check_id(vocabulary.bos, count, "bos"));
  TRY_OK(check_id(vocabulary.eos, count, "eos"));
  TRY_OK(check_id(vocabulary.eot, count, "eot"));
  TRY_OK(check_id(vocabulary.unknown, count, "unknown"));
  return check_id(vocabulary.padding, count, "padding");
}

}  // namespace

struct Tokenizer::Body {
  explicit Body(Vocabulary from) : vocabulary(std::move(from)), merges(vocabulary.merges.size()) {}

  void index_tokens();
  Status index_merges();
  void find_end_tokens();
  void encode_plain(std::string_view text, std::vector<TokenId>& out) const;
  std::vector<TokenId> encode(std::string_view text, std::span<const TrustedStretch> trusted) const;

  Vocabulary vocabulary;
  WordRules rules = WordRules::kGpt2;
  MergeTable merges;
  SpecialTokens specials;
  std::array<TokenId, 256> byte_tokens{};
  std::unordered_map<std::string_view, TokenId> by_text;  ///< views into vocabulary.tokens
  /// Raw bytes of whole words that are tokens; only where the rules take them before merging.
  std::unordered_map<std::string, TokenId> whole_words;
  std::string bytes;                      ///< raw bytes of all tokens, one after the other
  std::vector<std::size_t> bytes_starts;  ///< [tokens + 1] offsets into bytes
  std::vector<TokenId> ends;
};

void Tokenizer::Body::index_tokens() {
  const ByteAlphabet alphabet;
  const bool wants_whole_words = rules == WordRules::kLlamaBpe;
  bytes_starts.push_back(0);
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const std::string& token = vocabulary.tokens[i];
    const TokenType type = vocabulary.types[i];
    const auto id = static_cast<TokenId>(i);
    by_text.try_emplace(token, id);
    if (is_control_type(type) || type == TokenType::kUserDefined) {
      specials.add(token, id, /*everywhere=*/type == TokenType::kUserDefined);
    }
    if (type == TokenType::kUserDefined) {
      bytes += token;
    } else if (!is_control_type(type)) {
      const std::string raw = alphabet.bytes_of(token);
      if (wants_whole_words) whole_words.try_emplace(raw, id);
      bytes += raw;
    }
    bytes_starts.push_back(bytes.size());
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto found = by_text.find(alphabet.spelling(static_cast<std::uint8_t>(byte)));
    const bool usable = found != by_text.end() && !is_control_type(vocabulary.types[found->second]);
    byte_tokens[byte] = usable ? found->second : -1;
  }
}

Status Tokenizer::Body::index_merges() {
  for (std::size_t i = 0; i < vocabulary.merges.size(); ++i) {
    const std::string& merge = vocabulary.merges[i];
    const auto bad = [&](std::string_view what) {
      return invalid_argument("merges[" + std::to_string(i) + "]: expected " + std::string(what) +
                              ", got \"" + merge + "\"");
    };
    const std::size_t blank = merge.find(' ', 1);
    if (blank == std::string::npos || blank + 1 == merge.size()) {
      return bad("two tokens with a blank between them");
    }
    const std::string left = merge.substr(0, blank);
    const std::string right = merge.substr(blank + 1);
    const auto left_at = by_text.find(left);
    const auto right_at = by_text.find(right);
    const auto whole_at = by_text.find(left + right);
    if (left_at == by_text.end() || right_at == by_text.end() || whole_at == by_text.end()) {
      return bad("two tokens that make a third of the vocabulary");
    }
    // Plain text must never become a control token, not even by a file that would merge into one.
    if (is_control_type(vocabulary.types[whole_at->second])) continue;
    merges.add(left_at->second, right_at->second, {static_cast<std::int32_t>(i), whole_at->second});
  }
  return ok_status();
}

void Tokenizer::Body::find_end_tokens() {
  if (vocabulary.eos) ends.push_back(*vocabulary.eos);
  if (vocabulary.eot) ends.push_back(*vocabulary.eot);
  for (const std::string_view name : kEndNames) {
    const auto found = by_text.find(name);
    if (found == by_text.end()) continue;
    if (vocabulary.types[found->second] == TokenType::kControl) ends.push_back(found->second);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

/// Text without special tokens: words, then bytes, then merges.
void Tokenizer::Body::encode_plain(std::string_view text, std::vector<TokenId>& out) const {
  if (text.empty()) return;
  WordMerger merger(merges);
  std::vector<TokenId> symbols;
  std::size_t start = 0;
  for (const std::size_t end : split_words(rules, text)) {
    const std::string_view word = text.substr(start, end - start);
    start = end;
    if (!whole_words.empty()) {
      const auto whole = whole_words.find(std::string(word));
      if (whole != whole_words.end()) {
        out.push_back(whole->second);
        continue;
      }
    }
    symbols.clear();
    for (const char byte : word) {
      const TokenId id = byte_tokens[static_cast<unsigned char>(byte)];
      if (id >= 0) symbols.push_back(id);
    }
    merger.merge(symbols, out);
  }
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
    encode_plain(text.substr(plain_start, at - plain_start), out);
    out.push_back(match->id);
    at += match->length;
    plain_start = at;
  }
  encode_plain(text.substr(plain_start), out);
  return out;
}

Tokenizer::Tokenizer(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::build(Vocabulary vocabulary) {
  TRY_OK(check_shape(vocabulary));
  const auto rules = word_rules(vocabulary.pre);
  if (!rules) {
    return unimplemented("pre-tokenizer \"" + vocabulary.pre + "\" is not known",
                         "tokenizer.ggml.pre");
  }
  auto body = std::make_unique<Body>(std::move(vocabulary));
  body->rules = *rules;
  body->index_tokens();
  TRY_OK(body->index_merges());
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
  for (const TokenId id : ids) {
    if (is_control(id)) {
      if (with_special) text += body_->vocabulary.tokens[static_cast<std::size_t>(id)];
    } else {
      text += bytes_of(id);
    }
  }
  return text;
}

std::string_view Tokenizer::bytes_of(TokenId id) const {
  CHECK(id >= 0 && id < size(), "a token id of the vocabulary");
  const auto index = static_cast<std::size_t>(id);
  const std::size_t start = body_->bytes_starts[index];
  return std::string_view(body_->bytes).substr(start, body_->bytes_starts[index + 1] - start);
}

bool Tokenizer::is_control(TokenId id) const {
  CHECK(id >= 0 && id < size(), "a token id of the vocabulary");
  return is_control_type(body_->vocabulary.types[static_cast<std::size_t>(id)]);
}

std::span<const TokenId> Tokenizer::end_tokens() const { return body_->ends; }
const Vocabulary& Tokenizer::vocabulary() const { return body_->vocabulary; }
std::int32_t Tokenizer::size() const {
  return static_cast<std::int32_t>(body_->vocabulary.tokens.size());
}

}  // namespace kantha::text
