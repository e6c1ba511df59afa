#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/model/architectures.h"
#include "engine/model/llama_model.h"
#include "engine/model/safetensors_file.h"

/// From the parts of a Hugging Face folder to the model it describes; no files are touched here.
namespace kantha::model {

/// What config.json says.
struct FolderConfig {
  const ArchitectureTraits* traits = nullptr;
  LlamaConfig config;
  /// tie_word_embeddings: true takes the embedding whatever else there is, false demands an
  /// lm_head, absent takes an lm_head if there is one.
  std::optional<bool> is_tied = {};
};

/// Reads config.json, in the spellings of transformers 4 and 5. Every value is held to a range;
/// what would change the arithmetic and is not implemented (quantization_config, mlp_bias, dynamic
/// rope scaling, an activation or layer type that we do not know) is kUnimplemented by name;
/// missing or absurd values name the field.
Result<FolderConfig> config_from_json(const Json& json);

/// The model from its config and all shards' tensors, every shape checked. A tensor that has no
/// place in the architecture is kUnimplemented by name; one that two shards have is kDataLoss. The
/// views borrow what the shards borrow.
Result<LlamaModel> llama_from_shards(const FolderConfig& config,
                                     std::span<const SafetensorsFile> shards);

/// model.safetensors.index.json: which tensor lies in which file. File names are plain names in the
/// same folder: no separators, nothing hidden.
Result<std::map<std::string, std::string>> shards_of_index(const Json& json);

/// generation_config.json's eos_token_id, a number or a list; empty when absent.
Result<std::vector<std::int32_t>> end_tokens_of(const Json& json);

}  // namespace kantha::model
