#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"
#include "engine/text/text_encoder.h"

/// SentencePiece's way with blanks and bytes, which three kinds of tokenizers share.
namespace kantha::text {

/// Whether a blank goes in front of this text.
bool adds_blank(const Vocabulary& vocabulary, bool first);
/// The text with ▁ for every blank, and one in front where the vocabulary wants it.
std::string with_blank_signs(const Vocabulary& vocabulary, std::string_view text, bool first);
/// The bytes of a token: ▁ is a blank, <0xHH> a byte.
void append_sentence_piece_bytes(const TokenTable& table, TokenId id, std::string& out);
/// The ids for text that is no token: its bytes, when the vocabulary has them all, or else once
/// unknown (nothing when the vocabulary has no such token).
void append_fallback(const TokenTable& table, std::string_view text, std::vector<TokenId>& out);

}  // namespace kantha::text
