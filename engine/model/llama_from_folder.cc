#include "engine/model/llama_from_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/json_fields.h"
#include "engine/model/byte_cursor.h"
#include "engine/model/llama_from_gguf.h"
#include "engine/model/model_limits.h"

namespace kantha::model {
namespace {

constexpr std::size_t kEndTokensMax = 64;
constexpr std::size_t kFileNameMax = 255;

/// Where the norm after attention and the one before the feed-forward are two.
constexpr TensorNames kFourNorms = {.embedding = "model.embed_tokens.weight",
                                    .output = "lm_head.weight",
                                    .output_norm = "model.norm.weight",
                                    .layer = "model.layers.{}.",
                                    .attention_norm = "input_layernorm",
                                    .q = "self_attn.q_proj",
                                    .k = "self_attn.k_proj",
                                    .v = "self_attn.v_proj",
                                    .qkv = "self_attn.qkv_proj",
                                    .o = "self_attn.o_proj",
                                    .q_norm = "self_attn.q_norm",
                                    .k_norm = "self_attn.k_norm",
                                    .post_attention_norm = "post_attention_layernorm",
                                    .ffn_norm = "pre_feedforward_layernorm",
                                    .gate = "mlp.gate_proj",
                                    .up = "mlp.up_proj",
                                    .gate_up = "mlp.gate_up_proj",
                                    .down = "mlp.down_proj",
                                    .post_ffn_norm = "post_feedforward_layernorm"};

constexpr TensorNames two_norms() {
  TensorNames names = kFourNorms;
  names.ffn_norm = names.post_attention_norm;  // named after its place, not its use
  return names;
}
constexpr TensorNames kTwoNorms = two_norms();

/// A buffer that old checkpoints carry; its values follow from the config.
bool is_ignored(std::string_view name) { return name.ends_with(".rotary_emb.inv_freq"); }

Result<TensorTable> table_of(std::span<const SafetensorsFile> shards) {
  TensorTable table;
  std::unordered_set<std::string_view> names;
  for (const SafetensorsFile& shard : shards) {
    for (const SafeTensor& tensor : shard.tensors) {
      if (!names.insert(tensor.name).second) {
        return data_loss(fmt::format("tensor {}: is in two files", quote(tensor.name)));
      }
      if (!is_ignored(tensor.name)) table.add(tensor.name, tensor.dims, tensor.view);
    }
  }
  return table;
}

Status check_file_name(std::string_view name) {
  const bool is_plain = !name.empty() && name.size() <= kFileNameMax && name.front() != '.' &&
                        name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
  if (is_plain) return ok_status();
  return data_loss(fmt::format("weight_map: {} is no plain file name", quote(name)));
}

}  // namespace

Result<LlamaModel> llama_from_shards(const FolderConfig& config,
                                     std::span<const SafetensorsFile> shards) {
  const ArchitectureTraits& traits = *config.traits;
  LlamaModel model;
  model.config = config.config;
  TRY(auto table, table_of(shards));
  TRY_OK(take_weights(table,
                      {.traits = traits,
                       .names = traits.post_norms ? kFourNorms : kTwoNorms,
                       .norm_offset = traits.hf_norms_add_one ? 1.0F : 0.0F},
                      model));
  const bool has_head = !model.output.empty();
  if (!has_head && config.is_tied == false) {
    return data_loss("tensor lm_head.weight: is missing, and tie_word_embeddings is false");
  }
  if (!has_head || config.is_tied.value_or(false)) model.output = model.embedding;
  if (const std::string extra = table.first_left(); !extra.empty()) {
    return unimplemented(fmt::format("tensor {}: has no place in a {} model that we know",
                                     quote(extra), traits.hf_type));
  }
  return model;
}

Result<std::map<std::string, std::string>> shards_of_index(const Json& json) {
  const JsonFields fields(json, "");
  TRY_OK(fields.check_object());
  const Json* map = fields.find("weight_map");
  if (map == nullptr || !map->is_object() || map->empty()) {
    return data_loss("weight_map: expected an object from tensors to files");
  }
  std::map<std::string, std::string> shards;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string()) {
      return data_loss(fmt::format("weight_map: {}: expected a file name", quote(tensor)));
    }
    TRY_OK(check_file_name(file.get_ref<const std::string&>()));
    shards.emplace(tensor, file.get<std::string>());
  }
  return shards;
}

Result<std::vector<std::int32_t>> end_tokens_of(const Json& json) {
  const JsonFields fields(json, "");
  TRY_OK(fields.check_object());
  std::vector<std::int32_t> ids;
  const Json* value = fields.find("eos_token_id");
  if (value == nullptr) return ids;
  const Json list = value->is_array() ? *value : Json::array({*value});
  for (const Json& id : list) {
    const std::int64_t number = id.is_number_integer() ? id.get<std::int64_t>() : -1;
    if (number < 0 || number >= kVocabularyMax || list.size() > kEndTokensMax) {
      return data_loss(fmt::format("eos_token_id: expected at most {} token ids, got {}",
                                   kEndTokensMax, quote(value->dump())));
    }
    ids.push_back(static_cast<std::int32_t>(number));
  }
  return ids;
}

}  // namespace kantha::model
