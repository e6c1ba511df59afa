#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/text/vocabulary.h"

/// From a Hugging Face folder's tokenizer files to plain data.
namespace kantha::model {

struct TokenizerFiles {
  Json tokenizer;                             ///< tokenizer.json
  Json settings = nullptr;                    ///< tokenizer_config.json; null: there is none
  std::string chat_template = {};             ///< chat_template.jinja, which wins
  std::vector<std::int32_t> end_tokens = {};  ///< of generation_config.json and config.json
  std::int32_t size = 0;  ///< the model's vocabulary; ids without a token become unused ones
};

/// Byte-level BPE with any steps of expressions, and BPE over characters with byte tokens, as
/// text/vocabulary.h maps them. Everything else (another model type, pre-tokenizer or normaliser)
/// is kUnimplemented by name; ids outside [0, size), two tokens of one id, or merges that are no
/// pairs are kDataLoss. Whether the text room runs the result is for it to say.
Result<text::Vocabulary> vocabulary_from_tokenizer_json(const TokenizerFiles& files);

}  // namespace kantha::model
