#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// The pre-tokenizers that a GGUF file can name.
namespace kantha::text {

struct PreTokenizer {
  std::vector<std::string> splits;  ///< steps of a WordSplitter
  bool whole_words = false;         ///< a word that is a token is taken before any merge
  bool adds_bos = false;            ///< when the file does not say
};

/// What tokenizer.ggml.pre stands for; the rules are those of the tokenizers' published files.
/// kUnimplemented for an unknown name, with the known ones.
Result<PreTokenizer> pre_tokenizer(std::string_view name);

/// All names, in the order of the table.
std::vector<std::string_view> pre_tokenizer_names();

}  // namespace kantha::text
