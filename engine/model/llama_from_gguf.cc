#include "engine/model/llama_from_gguf.h"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <unordered_map>

namespace kantha::model {
namespace {

/// Hands out tensors by name and remembers which nobody asked for.
class TensorTable {
 public:
  explicit TensorTable(const GgufFile& file) {
    for (const GgufTensor& tensor : file.tensors) left_.emplace(tensor.name, &tensor);
  }

  bool has(const std::string& name) const { return left_.contains(name); }

  /// The tensor `name`, which must be [rows, cols]; taken out of the table.
  Result<ops::TensorView> take(const std::string& name, std::int64_t rows, std::int64_t cols) {
    const auto found = left_.find(name);
    if (found == left_.end()) return data_loss(fmt::format("tensor {}: is missing", name));
    const GgufTensor& tensor = *found->second;
    if (tensor.dims.size() > 2 || tensor.view.rows != rows || tensor.view.cols != cols) {
      return data_loss(fmt::format("tensor {}: expected [{}, {}] from the keys, got [{}, {}]", name,
                                   rows, cols, tensor.view.rows, tensor.view.cols));
    }
    const ops::TensorView view = tensor.view;
    left_.erase(found);
    return view;
  }

  /// A norm's weights: [cols] f32.
  Result<ops::TensorView> take_f32(const std::string& name, std::int64_t cols) {
    TRY(const auto view, take(name, 1, cols));
    if (view.type != ops::DType::kF32) {
      return unimplemented(fmt::format("tensor {}: type {} is not supported here, F32 is", name,
                                       ops::dtype_name(view.type)));
    }
    return view;
  }

  /// The first, by name, that was not taken; empty when all were.
  std::string first_left() const {
    std::string_view first;
    for (const auto& [name, tensor] : left_) {
      if (first.empty() || name < first) first = name;
    }
    return std::string(first);
  }

 private:
  std::unordered_map<std::string_view, const GgufTensor*> left_;
};

Result<LlamaLayer> take_layer(TensorTable& table, const LlamaConfig& config, std::int32_t index) {
  const auto name = [index](std::string_view part) {
    return fmt::format("blk.{}.{}.weight", index, part);
  };
  const std::int64_t width = config.width;
  const std::int64_t q_width = std::int64_t{config.heads} * config.head_size;
  LlamaLayer layer;
  TRY(layer.attention_norm, table.take_f32(name("attn_norm"), width));
  TRY(layer.q, table.take(name("attn_q"), q_width, width));
  TRY(layer.k, table.take(name("attn_k"), config.kv_width(), width));
  TRY(layer.v, table.take(name("attn_v"), config.kv_width(), width));
  TRY(layer.o, table.take(name("attn_output"), width, q_width));
  TRY(layer.ffn_norm, table.take_f32(name("ffn_norm"), width));
  TRY(layer.gate, table.take(name("ffn_gate"), config.ffn_width, width));
  TRY(layer.up, table.take(name("ffn_up"), config.ffn_width, width));
  TRY(layer.down, table.take(name("ffn_down"), width, config.ffn_width));
  return layer;
}

/// Llama 3's per-frequency divisors; all ones say nothing and are let pass.
Status check_rope_factors(TensorTable& table, const LlamaConfig& config) {
  const std::string name = "rope_freqs.weight";
  if (!table.has(name)) return ok_status();
  TRY(const auto factors, table.take_f32(name, config.rope_dims / 2));
  for (std::int64_t i = 0; i < factors.cols; ++i) {
    float factor = 0;
    std::memcpy(&factor, factors.bytes.data() + i * sizeof(float), sizeof(float));
    if (factor != 1.0F) {
      return unimplemented(
          fmt::format("tensor {}: rope factor {} at {} is not supported, 1 is", name, factor, i));
    }
  }
  return ok_status();
}

}  // namespace

Result<LlamaModel> llama_from_gguf(const GgufFile& file) {
  LlamaModel model;
  TRY(model.config, llama_config_from_gguf(file.metadata));
  const LlamaConfig& config = model.config;
  TensorTable table(file);
  TRY(model.embedding, table.take("token_embd.weight", config.vocabulary, config.width));
  for (std::int32_t i = 0; i < config.layers; ++i) {
    TRY(auto layer, take_layer(table, config, i));
    model.layers.push_back(layer);
  }
  TRY(model.output_norm, table.take_f32("output_norm.weight", config.width));
  model.output = model.embedding;
  if (table.has("output.weight")) {
    TRY(model.output, table.take("output.weight", config.vocabulary, config.width));
  }
  TRY_OK(check_rope_factors(table, config));
  if (const std::string extra = table.first_left(); !extra.empty()) {
    return unimplemented(
        fmt::format("tensor {}: has no place in a llama model that we know", quote(extra)));
  }
  return model;
}

}  // namespace kantha::model
