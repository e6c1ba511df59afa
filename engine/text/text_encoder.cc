#include "engine/text/text_encoder.h"

#include <algorithm>
#include <string>
#include <utility>

namespace kantha::text {
namespace {

std::string byte_token_name(unsigned byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">";
}

}  // namespace

TokenTable::TokenTable(Vocabulary from) : vocabulary(std::move(from)) {
  by_text.reserve(vocabulary.tokens.size());
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    by_text.try_emplace(vocabulary.tokens[i], static_cast<TokenId>(i));
    longest = std::max(longest, vocabulary.tokens[i].size());
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto found = by_text.find(byte_token_name(byte));
    const bool usable = found != by_text.end() && !is_control(found->second);
    byte_tokens[byte] = usable ? found->second : -1;
  }
}

bool TokenTable::is_control(TokenId id) const {
  const TokenType type = vocabulary.types[static_cast<std::size_t>(id)];
  return type == TokenType::kControl || type == TokenType::kUnknown;
}

TokenId TokenTable::plain_token(std::string_view text) const {
  const auto found = by_text.find(text);
  if (found == by_text.end() || is_control(found->second)) return -1;
  const auto index = static_cast<std::size_t>(found->second);
  return vocabulary.types[index] == TokenType::kByte ? -1 : found->second;
}

Status check_scores(const Vocabulary& vocabulary) {
  if (vocabulary.scores.size() != vocabulary.tokens.size()) {
    return invalid_argument("scores: expected " + std::to_string(vocabulary.tokens.size()) +
                            " entries, got " + std::to_string(vocabulary.scores.size()));
  }
  return ok_status();
}

}  // namespace kantha::text
