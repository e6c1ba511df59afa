#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/model/llama_model.h"
#include "engine/text/vocabulary.h"

/// From a model file to weights and vocabulary.
namespace kantha::model {

/// A mapped file; unmapped when the last owner lets go.
class ModelFile;

/// A model ready to be given to a Forward. `llama`'s views borrow from `file`, or from `shards`.
struct LoadedModel {
  std::shared_ptr<const ModelFile> file;                 ///< a GGUF
  std::vector<std::shared_ptr<const ModelFile>> shards;  ///< a folder's safetensors
  std::string architecture;                              ///< "llama", "gemma3", …
  LlamaModel llama;
  text::Vocabulary vocabulary;
  std::string name;  ///< general.name of the file, may be empty; a folder's own name
  std::int64_t file_bytes = 0;
};

/// Maps and checks a GGUF file, or a Hugging Face folder (load_folder.h), of an architecture that
/// we know (architectures.h). Errors name the file, the key or tensor, the value and the limit:
/// kNotFound (no such file), kDataLoss (truncated, damaged, lying header), kUnimplemented (unknown
/// architecture, tensor type or version, by name). Never reads past the file; memory stays within a
/// small multiple of the header's honest size. Any thread.
Result<LoadedModel> load_model(const std::string& path);

}  // namespace kantha::model
