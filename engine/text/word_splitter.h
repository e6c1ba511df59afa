#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

/// Cuts text into the words that byte-pair merging works within ("pre-tokenization").
///
/// The rules are the regular expressions of the published tokenizers, written out by hand over
/// Unicode classes: each place is looked at a fixed number of times, so the time is linear whatever
/// the text, and there is no backtracking to run away.
namespace kantha::text {

/// Which rules; the names are GGUF's tokenizer.ggml.pre.
enum class WordRules {
  kGpt2,      ///< 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  kSmollm,    ///< each \p{N} by itself, then kGpt2 in the stretches between
  kDefault,   ///< llama.cpp's: runs of [\p{P}$+<=>^~|], then kGpt2, then \p{N}+, then 3 digits
  kLlamaBpe,  ///< Llama 3: contractions in any case, words with one leading sign, 1–3 digits
  kQwen2,     ///< as kLlamaBpe with single digits; no Unicode normalisation is done
};

/// The rules for a `pre`; nothing for an unknown one.
std::optional<WordRules> word_rules(std::string_view pre);

/// End offsets of the words of `text`, ascending, the last one text.size(). A byte that is not part
/// of valid UTF-8 counts as one sign that is neither letter, number nor space. Any thread.
std::vector<std::size_t> split_words(WordRules rules, std::string_view text);

}  // namespace kantha::text
