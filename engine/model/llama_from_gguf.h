#pragma once

#include "base/result.h"
#include "engine/model/gguf_file.h"
#include "engine/model/llama_model.h"

/// From a parsed GGUF file to the model it describes.
namespace kantha::model {

/// Reads the llama.* keys. Every value is held to a range; whatever would change the arithmetic and
/// is not implemented (rope scaling, experts, sliding windows, any llama.* key that we do not know)
/// is kUnimplemented by name; missing or absurd values are kDataLoss.
Result<LlamaConfig> llama_config_from_gguf(const GgufMetadata& metadata);

/// Config and weights, with every tensor's shape checked against the config. A missing
/// output.weight means that the output is tied to the embedding. A tensor that has no place in a
/// llama is kUnimplemented by name. The views borrow what `file` borrows.
Result<LlamaModel> llama_from_gguf(const GgufFile& file);

}  // namespace kantha::model
