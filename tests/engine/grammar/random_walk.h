#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/grammar/grammar.h"

namespace kantha::grammar {

inline std::vector<TokenId> tokens_in(const std::vector<std::uint64_t>& mask) {
  std::vector<TokenId> tokens;
  for (std::size_t word = 0; word < mask.size(); ++word) {
    for (std::uint64_t bits = mask[word]; bits != 0; bits &= bits - 1) {
      tokens.push_back(static_cast<TokenId>(word * 64 + std::size_t(std::countr_zero(bits))));
    }
  }
  return tokens;
}

inline std::vector<std::uint64_t> mask_of(GrammarState& state) {
  const auto size = static_cast<std::size_t>(state.grammar().lexicon().vocabulary_size());
  std::vector<std::uint64_t> mask((size + 63) / 64, ~std::uint64_t{0});
  state.fill_mask(mask);
  return mask;
}

/// A text that random tokens of the masks have written, each of which must be accepted; ends where
/// the text is an answer, soon after `steps`. Nothing when a mask was empty before that, or when
/// four times as many steps did not end it.
inline std::optional<std::string> random_answer(GrammarState& state, std::mt19937_64& random,
                                                std::size_t steps) {
  std::string text;
  for (std::size_t i = 0; i < 4 * steps; ++i) {
    if (state.is_finished() || (state.is_complete() && random() % 4 == 0)) return text;
    const std::vector<TokenId> tokens = tokens_in(mask_of(state));
    if (tokens.empty()) return std::nullopt;
    TokenId token = tokens[random() % tokens.size()];
    if (i >= steps) {
      // What closes comes first: else a text of random letters goes on for ever.
      for (const TokenId other : tokens) {
        const std::string_view bytes = state.grammar().lexicon().bytes_of(other);
        if (bytes == "\"" || bytes == "}" || bytes == "]") token = other;
      }
    }
    if (!state.accept(token)) return std::nullopt;
    text += state.grammar().lexicon().bytes_of(token);
  }
  return state.is_complete() ? std::optional(text) : std::nullopt;
}

}  // namespace kantha::grammar
