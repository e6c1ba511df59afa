#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/model/llama_model.h"
#include "engine/text/vocabulary.h"

/// What a model file or folder is, also where we refuse to run it.
namespace kantha::model {

struct TypeCount {
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;
};

/// As far as could be read; `refusal` says what stopped the reading.
struct ModelReport {
  std::string format;        ///< "GGUF 3", "Hugging Face folder"; empty: neither
  std::string architecture;  ///< as the file calls it
  std::string name;
  std::int64_t file_bytes = 0;
  std::int64_t parameters = 0;             ///< elements of all tensors
  std::map<std::string, TypeCount> types;  ///< "Q4_1" → how much
  std::optional<LlamaConfig> config = {};
  std::optional<text::Vocabulary> vocabulary = {};
  std::string refusal;  ///< why it cannot be run; empty: nothing found
};

/// Reads whatever can be read of a file or folder. Any thread.
ModelReport inspect_model(const std::string& path);

/// Bytes of keys and values in f16 that one more token takes in layers that attend to everything,
/// and in those with a window, which forget as many behind it.
std::int64_t kv_bytes_full(const LlamaConfig& config);
std::int64_t kv_bytes_windowed(const LlamaConfig& config);

}  // namespace kantha::model
