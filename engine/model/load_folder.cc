#include "engine/model/load_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "engine/model/byte_cursor.h"
#include "engine/model/file_kind.h"
#include "engine/model/llama_from_folder.h"
#include "engine/model/model_file.h"
#include "engine/model/safetensors_file.h"
#include "engine/model/vocabulary_from_tokenizer_json.h"

namespace kantha::model {
namespace {

constexpr std::size_t kConfigBytesMax = 1U << 20;
constexpr std::size_t kIndexBytesMax = 32U << 20;
constexpr std::size_t kTokenizerBytesMax = 128U << 20;
constexpr std::size_t kShardsMax = 1024;

/// A folder's small files by name.
class Folder {
 public:
  explicit Folder(const std::string& path) : path_(path) {}

  std::string path_of(const std::string& name) const { return path_ + "/" + name; }

  /// A file of at most `bytes_max`; null where there is no such file. Mapped, so that a limit costs
  /// no memory.
  Result<std::shared_ptr<const ModelFile>> file(const std::string& name,
                                                std::size_t bytes_max) const {
    auto file = ModelFile::open(path_of(name));
    if (!file.ok() && file.error().code == Code::kNotFound) {
      return std::shared_ptr<const ModelFile>();
    }
    if (!file.ok()) return std::move(file).error().with_context(name);
    if ((*file)->bytes().size() > bytes_max) {
      return data_loss(
          fmt::format("{}: at most {} bytes, got {}", name, bytes_max, (*file)->bytes().size()));
    }
    return file;
  }

  /// Nothing where there is no such file.
  Result<std::optional<std::string>> text(const std::string& name, std::size_t bytes_max) const {
    TRY(const auto mapped, file(name, bytes_max));
    if (mapped == nullptr) return std::optional<std::string>();
    return std::optional(std::string(view(*mapped)));
  }

  Result<std::optional<Json>> json(const std::string& name, std::size_t bytes_max) const {
    TRY(const auto mapped, file(name, bytes_max));
    if (mapped == nullptr) return std::optional<Json>();
    const JsonLimits limits{.depth_max = 64, .nodes_max = bytes_max, .bytes_max = bytes_max};
    auto json = parse_json(view(*mapped), limits);
    if (!json.ok()) {
      return data_loss(fmt::format("{}: {}; it looks like {}", name, json.error().message,
                                   describe_file(mapped->bytes())));
    }
    return std::optional<Json>(std::move(json).value());
  }

  Result<Json> needed(const std::string& name, std::size_t bytes_max) const {
    TRY(auto found, json(name, bytes_max));
    if (!found) return not_found(fmt::format("{}: no such file in the folder", name));
    return *std::move(found);
  }

 private:
  static std::string_view view(const ModelFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
  }

  std::string path_;
};

/// Gives errors of one file its name.
template <class T>
Result<T> in_file(const std::string& name, Result<T> result) {
  if (!result.ok()) return std::move(result).error().with_context(name);
  return result;
}

struct Shards {
  std::vector<std::shared_ptr<const ModelFile>> files;
  std::vector<SafetensorsFile> parsed;
  std::int64_t bytes = 0;
};

Status add_shard(const Folder& folder, const std::string& name, Shards& shards) {
  TRY(auto file, in_file(name, ModelFile::open(folder.path_of(name))));
  TRY(auto parsed, in_file(name, parse_safetensors(file->bytes())));
  shards.bytes += static_cast<std::int64_t>(file->bytes().size());
  shards.files.push_back(std::move(file));
  shards.parsed.push_back(std::move(parsed));
  return ok_status();
}

/// Every tensor of the index is in the file that it names.
Status check_index(const std::map<std::string, std::string>& index,
                   const std::set<std::string>& names, const Shards& shards) {
  std::map<std::string, std::set<std::string_view>> content;
  std::size_t i = 0;
  for (const std::string& name : names) {
    for (const SafeTensor& tensor : shards.parsed[i].tensors) content[name].insert(tensor.name);
    ++i;
  }
  for (const auto& [tensor, file] : index) {
    if (!content[file].contains(tensor)) {
      return data_loss(
          fmt::format("{}: tensor {} is not in it, though the index says so", file, quote(tensor)));
    }
  }
  return ok_status();
}

Result<Shards> open_shards(const Folder& folder) {
  constexpr auto kIndex = "model.safetensors.index.json";
  Shards shards;
  TRY(const auto json, folder.json(kIndex, kIndexBytesMax));
  if (!json) {
    TRY_OK(add_shard(folder, "model.safetensors", shards));
    return shards;
  }
  TRY(const auto index, in_file(kIndex, shards_of_index(*json)));
  std::set<std::string> names;
  for (const auto& [tensor, file] : index) names.insert(file);
  if (names.size() > kShardsMax) {
    return data_loss(fmt::format("{}: at most {} files, got {}", kIndex, kShardsMax, names.size()));
  }
  for (const std::string& name : names) TRY_OK(add_shard(folder, name, shards));
  TRY_OK(check_index(index, names, shards));
  return shards;
}

/// The tokenizer's tables, its template and all end tokens.
Result<text::Vocabulary> read_vocabulary(const Folder& folder, std::int32_t size) {
  TokenizerFiles files;
  TRY(files.tokenizer, folder.needed("tokenizer.json", kTokenizerBytesMax));
  TRY(auto settings, folder.json("tokenizer_config.json", kIndexBytesMax));
  if (settings) files.settings = *std::move(settings);
  TRY(const auto chat_template, folder.text("chat_template.jinja", kConfigBytesMax));
  if (chat_template) files.chat_template = *chat_template;
  TRY(const auto generation, folder.json("generation_config.json", kConfigBytesMax));
  if (generation) {
    TRY(files.end_tokens, in_file("generation_config.json", end_tokens_of(*generation)));
  }
  TRY(const auto config, folder.needed("config.json", kConfigBytesMax));
  TRY(const auto ends, in_file("config.json", end_tokens_of(config)));
  for (const std::int32_t id : ends) files.end_tokens.push_back(id);
  files.size = size;
  return in_file("tokenizer.json", vocabulary_from_tokenizer_json(files));
}

Result<LoadedModel> load(const std::string& path) {
  const Folder folder(path);
  TRY(const auto json, folder.needed("config.json", kConfigBytesMax));
  TRY(const auto config, in_file("config.json", config_from_json(json)));
  TRY(auto shards, open_shards(folder));
  LoadedModel loaded;
  TRY(loaded.llama, llama_from_shards(config, shards.parsed));
  TRY(loaded.vocabulary, read_vocabulary(folder, config.config.vocabulary));
  loaded.architecture = std::string(config.traits->name);
  loaded.name = std::filesystem::path(path).lexically_normal().filename().string();
  loaded.file_bytes = shards.bytes;
  loaded.shards = std::move(shards.files);
  return loaded;
}

}  // namespace

bool is_folder(const std::string& path) {
  struct stat facts = {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

Result<LoadedModel> load_folder(const std::string& path) { return load(path); }

}  // namespace kantha::model
