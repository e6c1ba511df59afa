#include "engine/model/llama_from_gguf.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <string>

#include "engine/model/rope_scaling.h"

namespace kantha::model {
namespace {

constexpr TensorNames kNames = {.embedding = "token_embd.weight",
                                .output = "output.weight",
                                .output_norm = "output_norm.weight",
                                .layer = "blk.{}.",
                                .attention_norm = "attn_norm",
                                .q = "attn_q",
                                .k = "attn_k",
                                .v = "attn_v",
                                .qkv = "attn_qkv",
                                .o = "attn_output",
                                .q_norm = "attn_q_norm",
                                .k_norm = "attn_k_norm",
                                .post_attention_norm = "post_attention_norm",
                                .ffn_norm = "ffn_norm",
                                .gate = "ffn_gate",
                                .up = "ffn_up",
                                .gate_up = "ffn_up",
                                .down = "ffn_down",
                                .post_ffn_norm = "post_ffw_norm"};

/// A tensor of rope factors [rope_dims / 2], each above 0.
Result<std::vector<double>> take_factors(TensorTable& table, const std::string& name,
                                         const LlamaConfig& config) {
  OwnedFloats owned;
  TRY(const auto view, table.take_vector(name, config.rope_dims / 2, owned));
  std::vector<double> factors(static_cast<std::size_t>(view.cols));
  for (std::size_t i = 0; i < factors.size(); ++i) {
    float factor = 0;
    std::memcpy(&factor, view.bytes.data() + i * sizeof(float), sizeof(float));
    if (!(factor > 1e-3F && factor < 1e6F)) {
      return data_loss(fmt::format(
          "tensor {}: factor {}: expected a number in (0.001, 1e6), got {}", name, i, factor));
    }
    factors[i] = double{factor};
  }
  return factors;
}

/// Llama 3's per-frequency divisors, and phi 3's two sets, are tensors.
Status read_rope_factors(TensorTable& table, const GgufMetadata& metadata, LlamaConfig& config) {
  if (table.has("rope_freqs.weight")) {
    TRY(config.rope_divisors, take_factors(table, "rope_freqs.weight", config));
  }
  if (!table.has("rope_factors_long.weight")) return ok_status();
  TRY(const auto architecture, architecture_of_gguf(metadata));
  const auto key = [&](std::string_view end) {
    return fmt::format("{}.rope.scaling.{}", architecture->name, end);
  };
  RopeScaling scaling;
  scaling.kind = RopeScalingKind::kLongRope;
  TRY(scaling.long_factors, take_factors(table, "rope_factors_long.weight", config));
  TRY(scaling.short_factors, take_factors(table, "rope_factors_short.weight", config));
  TRY(const auto original, metadata.integer(key("original_context_length"), 0,
                                            std::numeric_limits<std::int32_t>::max()));
  scaling.original_context = static_cast<std::int32_t>(original.value_or(config.context));
  TRY(const auto magnitude, metadata.real(key("attn_factor")));
  if (magnitude) scaling.attention_factor = *magnitude;
  return apply_rope_scaling(scaling, config);
}

}  // namespace

Result<LlamaModel> llama_from_gguf(const GgufFile& file) {
  TRY(const auto traits, architecture_of_gguf(file.metadata));
  LlamaModel model;
  TRY(model.config, llama_config_from_gguf(file.metadata));
  TensorTable table;
  for (const GgufTensor& tensor : file.tensors) {
    table.add(tensor.name, {tensor.dims.rbegin(), tensor.dims.rend()}, tensor.view);
  }
  TRY_OK(take_weights(table, {.traits = *traits, .names = kNames}, model));
  if (model.output.empty()) model.output = model.embedding;
  TRY_OK(read_rope_factors(table, file.metadata, model.config));
  if (const std::string extra = table.first_left(); !extra.empty()) {
    return unimplemented(fmt::format("tensor {}: has no place in a {} model that we know",
                                     quote(extra), traits->name));
  }
  return model;
}

}  // namespace kantha::model
