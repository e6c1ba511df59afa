#pragma once

#include <string>

#include "base/result.h"
#include "engine/model/load_model.h"

namespace kantha::model {

/// True for a path that is a folder.
bool is_folder(const std::string& path);

/// Loads a Hugging Face folder: config.json, model.safetensors or the shards that
/// model.safetensors.index.json names, tokenizer.json, and where they exist tokenizer_config.json,
/// chat_template.jinja and generation_config.json (of which only the end tokens are taken: sampling
/// defaults stay ours). Errors name the file and what is wrong in it. Any thread.
Result<LoadedModel> load_folder(const std::string& path);

}  // namespace kantha::model
