#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"

/// A tokenizer's data as a model file carries it; plain data.
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

struct Vocabulary {
  std::string model;                ///< tokenizer.ggml.model: "gpt2" is byte-level BPE
  std::string pre;                  ///< tokenizer.ggml.pre: "smollm", "default", …
  std::vector<std::string> tokens;  ///< as in the file: byte-level BPE's printable alphabet
  std::vector<TokenType> types;     ///< same length as tokens
  std::vector<std::string> merges;  ///< "left right", best first
  std::optional<TokenId> bos = {};
  std::optional<TokenId> eos = {};
  std::optional<TokenId> eot = {};  ///< end of turn, when it differs from eos
  std::optional<TokenId> unknown = {};
  std::optional<TokenId> padding = {};
  bool add_bos = false;
  bool add_eos = false;
  std::string chat_template = {};  ///< Jinja source; empty when the model has none
};

}  // namespace kantha::text
