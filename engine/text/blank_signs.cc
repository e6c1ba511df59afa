#include "engine/text/blank_signs.h"

#include <algorithm>
#include <charconv>

namespace kantha::text {

bool adds_blank(const Vocabulary& vocabulary, bool first) {
  const bool sentence_piece = vocabulary.model == "llama" || vocabulary.model == "t5";
  const SpacePrefix otherwise = sentence_piece ? SpacePrefix::kAlways : SpacePrefix::kNever;
  switch (vocabulary.space_prefix.value_or(otherwise)) {
    case SpacePrefix::kNever: return false;
    case SpacePrefix::kFirst: return first;
    case SpacePrefix::kAlways: return true;
  }
  return false;
}

std::string with_blank_signs(const Vocabulary& vocabulary, std::string_view text, bool first) {
  std::string out;
  out.reserve(text.size() + text.size() / 2 + kBlankSign.size());
  if (adds_blank(vocabulary, first)) out += kBlankSign;
  for (const char c : text) {
    if (c == ' ') {
      out += kBlankSign;
    } else {
      out.push_back(c);
    }
  }
  return out;
}

void append_sentence_piece_bytes(const TokenTable& table, TokenId id, std::string& out) {
  const auto index = static_cast<std::size_t>(id);
  const std::string_view token = table.vocabulary.tokens[index];
  const bool byte_shape = token.size() == 6 && token.starts_with("<0x") && token.ends_with('>');
  if (byte_shape && table.vocabulary.types[index] == TokenType::kByte) {
    unsigned byte = 0;
    std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
    out.push_back(static_cast<char>(byte));
    return;
  }
  for (std::size_t at = 0; at < token.size();) {
    const std::size_t sign = std::min(token.find(kBlankSign, at), token.size());
    out += token.substr(at, sign - at);
    if (sign == token.size()) return;
    out.push_back(' ');
    at = sign + kBlankSign.size();
  }
}

void append_fallback(const TokenTable& table, std::string_view text, std::vector<TokenId>& out) {
  const auto token_of = [&](char c) { return table.byte_tokens[static_cast<unsigned char>(c)]; };
  if (std::ranges::all_of(text, [&](char c) { return token_of(c) >= 0; })) {
    for (const char c : text) out.push_back(token_of(c));
  } else if (table.vocabulary.unknown) {
    out.push_back(*table.vocabulary.unknown);
  }
}

}  // namespace kantha::text
