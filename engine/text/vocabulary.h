#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"

/// A tokenizer's data as a model file carries it; plain data.
///
/// A GGUF file fills it by key (`tokenizer.ggml.…`). A Hugging Face tokenizer.json maps so:
///
/// | tokenizer.json | here |
/// |---|---|
/// | BPE with a ByteLevel pre-tokenizer | model "gpt2"; pre stays empty and `splits` lists its
/// steps | | Split(Regex, Isolated), or Removed with invert and a pattern that covers every text |
/// the regex | | ByteLevel(use_regex) | kGpt2Split | | Digits(individual_digits), Digits | `\p{N}`,
/// `\p{N}+` | | Punctuation | `[\p{P}!-/:-@\[-`{-~]` | | BPE with byte_fallback (Llama 2, Gemma) |
/// model "gemma4": merges over characters, blanks as ▁ | | Prepend ▁, Metaspace prepend_scheme
/// always, first, never | space_prefix kAlways, kFirst, kNever | | Unigram with Metaspace,
/// Precompiled | model "t5", scores, charsmap (decoded from base64) | | WordPiece, BertNormalizer |
/// model "bert", tokens as GGUF spells them (see tokens), lowercase | | NFC | nfc | | added_tokens:
/// special, or not | kControl, or kUserDefined | | TemplateProcessing with BOS in front, EOS behind
/// | add_bos, add_eos |
namespace kantha::text {

/// Kinds of vocabulary entries; the values are GGUF's tokenizer.ggml.token_type.
enum class TokenType : std::int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

/// Where a SentencePiece tokenizer puts the blank that the text does not have.
enum class SpacePrefix : std::uint8_t {
  kNever,
  kFirst,   ///< in front of the whole text
  kAlways,  ///< also behind every control or user-defined token
};

/// GPT-2's rule, what ByteLevel(use_regex) stands for.
inline constexpr const char* kGpt2Split =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct Vocabulary {
  /// tokenizer.ggml.model: "gpt2" byte-level BPE, "llama" SentencePiece BPE by scores, "gemma4"
  /// BPE by merges over characters, "t5" SentencePiece unigram, "bert" WordPiece.
  std::string model;
  std::string pre;  ///< tokenizer.ggml.pre: "smollm", "default", …; "gpt2" models only
  /// As in the file: byte-level BPE's printable alphabet; SentencePiece's ▁ (U+2581) for a blank;
  /// of WordPiece ▁ before what begins a word and nothing before what continues one (no ##).
  std::vector<std::string> tokens;
  std::vector<TokenType> types;     ///< same length as tokens
  std::vector<std::string> merges;  ///< "left right", best first
  std::optional<TokenId> bos = {};
  std::optional<TokenId> eos = {};
  std::optional<TokenId> eot = {};  ///< end of turn, when it differs from eos
  std::vector<TokenId> ends = {};   ///< further ids that end a generation
  std::optional<TokenId> unknown = {};
  std::optional<TokenId> padding = {};
  bool add_bos = false;
  bool add_eos = false;
  std::string chat_template = {};  ///< Jinja source; empty when the model has none

  std::vector<float> scores = {};  ///< same length as tokens; "llama" and "t5" need them
  /// Pre-tokenizer by patterns, each applied to what the ones before left together; used instead of
  /// `pre` when not empty. Syntax: split_pattern.h.
  std::vector<std::string> splits = {};
  /// A word that is a token is taken whole, whatever the merges; absent: as `pre` has it.
  std::optional<bool> ignore_merges = {};
  /// Absent: kAlways for "llama" and "t5", kNever for the others.
  std::optional<SpacePrefix> space_prefix = {};
  bool remove_extra_spaces = false;  ///< "t5": runs of blanks count as one, none at the ends
  std::string charsmap = {};         ///< "t5": SentencePiece's precompiled_charsmap, as bytes
  bool lowercase = true;             ///< "bert": lower case, and accents taken away
  bool nfc = false;                  ///< text is brought to Unicode's form NFC before anything
};

/// Whether BOS goes in front when the file does not say; from `model` and `pre`.
bool adds_bos_by_default(const Vocabulary& vocabulary);

}  // namespace kantha::text
