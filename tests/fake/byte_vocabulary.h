#pragma once

#include <string_view>
#include <vector>

#include "engine/text/vocabulary.h"

/// The smallest byte-level vocabulary: token b is the byte b, then three control tokens. Any text
/// is a known list of ids.
namespace kantha::fake {

inline constexpr TokenId kTurnStart = 256;    ///< <|im_start|>
inline constexpr TokenId kTurnEnd = 257;      ///< <|im_end|>, ends a generation
inline constexpr TokenId kDocumentEnd = 258;  ///< <|endoftext|>
inline constexpr std::int32_t kByteVocabularySize = 259;

/// With a ChatML template.
text::Vocabulary byte_vocabulary();
/// One id per byte.
std::vector<TokenId> byte_tokens(std::string_view text);

}  // namespace kantha::fake
