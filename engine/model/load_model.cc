#include "engine/model/load_model.h"

#include <utility>

#include "engine/model/gguf_file.h"
#include "engine/model/llama_from_gguf.h"
#include "engine/model/load_folder.h"
#include "engine/model/model_file.h"
#include "engine/model/model_from_bytes.h"
#include "engine/model/vocabulary_from_gguf.h"

namespace kantha::model {
namespace {

Result<LoadedModel> load_mapped(const std::string& path) {
  TRY(auto file, ModelFile::open(path));
  TRY(auto loaded, model_from_bytes(file->bytes()));
  loaded.file = std::move(file);
  return loaded;
}

}  // namespace

Result<LoadedModel> model_from_bytes(std::span<const std::byte> bytes) {
  TRY(const auto gguf, parse_gguf(bytes));
  LoadedModel loaded;
  TRY(loaded.llama, llama_from_gguf(gguf));
  TRY(loaded.vocabulary, vocabulary_from_gguf(gguf.metadata));
  TRY(const auto name, gguf.metadata.text("general.name"));
  TRY(const auto traits, architecture_of_gguf(gguf.metadata));
  loaded.architecture = std::string(traits->name);
  loaded.name = std::string(name.value_or(""));
  loaded.file_bytes = static_cast<std::int64_t>(bytes.size());
  return loaded;
}

Result<LoadedModel> load_model(const std::string& path) {
  auto loaded = is_folder(path) ? load_folder(path) : load_mapped(path);
  if (!loaded.ok()) return std::move(loaded).error().with_context(path);
  return loaded;
}

}  // namespace kantha::model
