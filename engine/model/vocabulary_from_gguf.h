#pragma once

#include "base/result.h"
#include "engine/model/gguf_metadata.h"
#include "engine/text/vocabulary.h"

/// From a GGUF file's tokenizer.* keys to plain data.
namespace kantha::model {

/// Copies the tokenizer's tables. Checks types, lengths, token types, that special ids are within
/// the vocabulary, and that byte tokens are <0xHH>, each byte once. kDataLoss names key and value.
/// Whether the tokenizer's model is one that we run is for the text room to say.
Result<text::Vocabulary> vocabulary_from_gguf(const GgufMetadata& metadata);

}  // namespace kantha::model
