#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "engine/model/llama_model.h"
#include "engine/text/vocabulary.h"

/// From a model file to weights and vocabulary.
namespace kantha::model {

/// A mapped file; unmapped when the last owner lets go.
class ModelFile;

/// A model ready to be given to a Forward. `llama`'s views borrow from `file`.
struct LoadedModel {
  std::shared_ptr<const ModelFile> file;
  LlamaModel llama;
  text::Vocabulary vocabulary;
  std::string name;  ///< general.name of the file, may be empty
  std::int64_t file_bytes = 0;
};

/// Maps and checks a GGUF file of the llama architecture. Errors name the file, the key or tensor,
/// the value and the limit: kNotFound (no such file), kDataLoss (truncated, damaged, lying header),
/// kUnimplemented (unknown architecture, tensor type or version, by name). Never reads past the
/// file; memory stays within a small multiple of the header's honest size. Any thread.
Result<LoadedModel> load_model(const std::string& path);

}  // namespace kantha::model
