#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "engine/model/llama_from_gguf.h"

namespace kantha::model {
namespace {

/// A norm's weights, which are never all zero: where a file's end is missing, and its length is
/// not, the norms tell.
Result<ops::TensorView> take_norm(TensorTable& table, const std::string& name, std::int64_t cols,
                                  OwnedFloats& owned, float offset) {
  TRY(const auto view, table.take_vector(name, cols, owned, offset));
  if (std::ranges::all_of(view.bytes, [](std::byte b) { return b == std::byte{0}; })) {
    return data_loss(
        fmt::format("tensor {}: holds zeros only (a download that never finished?)", name));
  }
  return view;
}

/// Takes one layer's tensors.
class LayerTaker {
 public:
  LayerTaker(TensorTable& table, const TensorSource& source, const LlamaConfig& config,
             std::int32_t index, OwnedFloats& owned)
      : table_(table),
        source_(source),
        config_(config),
        prefix_(fmt::format(fmt::runtime(source.names.layer), index)),
        owned_(owned) {}

  Result<LlamaLayer> take() {
    LlamaLayer layer;
    TRY_OK(norms(layer));
    TRY_OK(source_.traits.is_fused ? fused(layer) : apart(layer));
    TRY(layer.o, matrix(source_.names.o, config_.width, config_.q_width()));
    TRY(layer.down, matrix(source_.names.down, config_.width, config_.ffn_width));
    TRY_OK(biases(layer));
    return layer;
  }

 private:
  std::string name(std::string_view part, std::string_view end = "weight") const {
    return fmt::format("{}{}.{}", prefix_, part, end);
  }
  Result<ops::TensorView> matrix(std::string_view part, std::int64_t rows, std::int64_t cols) {
    return table_.take(name(part), rows, cols);
  }
  Result<ops::TensorView> norm(std::string_view part, std::int64_t cols) {
    return take_norm(table_, name(part), cols, owned_, source_.norm_offset);
  }

  Status norms(LlamaLayer& layer) {
    const ArchitectureTraits& traits = source_.traits;
    const TensorNames& names = source_.names;
    if (traits.pre_norms) {
      TRY(layer.attention_norm, norm(names.attention_norm, config_.width));
      TRY(layer.ffn_norm, norm(names.ffn_norm, config_.width));
    }
    if (traits.post_norms) {
      TRY(layer.post_attention_norm, norm(names.post_attention_norm, config_.width));
      TRY(layer.post_ffn_norm, norm(names.post_ffn_norm, config_.width));
    }
    if (traits.qk_norm != QkNorm::kNone) {
      const bool is_per_head = traits.qk_norm == QkNorm::kPerHead;
      TRY(layer.q_norm, norm(names.q_norm, is_per_head ? config_.head_size : config_.q_width()));
      TRY(layer.k_norm, norm(names.k_norm, is_per_head ? config_.head_size : config_.kv_width()));
    }
    return ok_status();
  }

  Status apart(LlamaLayer& layer) {
    const TensorNames& names = source_.names;
    TRY(layer.q, matrix(names.q, config_.q_width(), config_.width));
    TRY(layer.k, matrix(names.k, config_.kv_width(), config_.width));
    TRY(layer.v, matrix(names.v, config_.kv_width(), config_.width));
    TRY(layer.gate, matrix(names.gate, config_.ffn_width, config_.width));
    TRY(layer.up, matrix(names.up, config_.ffn_width, config_.width));
    return ok_status();
  }

  Status fused(LlamaLayer& layer) {
    const std::int64_t q_width = config_.q_width();
    const std::int64_t kv_width = config_.kv_width();
    const std::int64_t ffn_width = config_.ffn_width;
    TRY(const auto qkv, matrix(source_.names.qkv, q_width + 2 * kv_width, config_.width));
    layer.q = rows_of(qkv, 0, q_width);
    layer.k = rows_of(qkv, q_width, kv_width);
    layer.v = rows_of(qkv, q_width + kv_width, kv_width);
    TRY(const auto gate_up, matrix(source_.names.gate_up, 2 * ffn_width, config_.width));
    layer.gate = rows_of(gate_up, 0, ffn_width);
    layer.up = rows_of(gate_up, ffn_width, ffn_width);
    return ok_status();
  }

  Status bias(std::string_view part, Bias rule, std::int64_t cols, ops::TensorView& to) {
    const std::string full = name(part, "bias");
    if (rule == Bias::kNone || (rule == Bias::kOptional && !table_.has(full))) return ok_status();
    TRY(to, table_.take_vector(full, cols, owned_));
    return ok_status();
  }

  Status biases(LlamaLayer& layer) {
    const Bias qkv = source_.traits.qkv_bias;
    TRY_OK(bias(source_.names.q, qkv, config_.q_width(), layer.q_bias));
    TRY_OK(bias(source_.names.k, qkv, config_.kv_width(), layer.k_bias));
    TRY_OK(bias(source_.names.v, qkv, config_.kv_width(), layer.v_bias));
    return bias(source_.names.o, source_.traits.o_bias, config_.width, layer.o_bias);
  }

  TensorTable& table_;
  const TensorSource& source_;
  const LlamaConfig& config_;
  std::string prefix_;
  OwnedFloats& owned_;
};

}  // namespace

Status take_weights(TensorTable& table, const TensorSource& source, LlamaModel& model) {
  const LlamaConfig& config = model.config;
  auto owned = std::make_shared<OwnedFloats>();
  TRY(model.embedding,
      table.take(std::string(source.names.embedding), config.vocabulary, config.width));
  for (std::int32_t i = 0; i < config.layers; ++i) {
    TRY(auto layer, LayerTaker(table, source, config, i, *owned).take());
    model.layers.push_back(layer);
  }
  TRY(model.output_norm, take_norm(table, std::string(source.names.output_norm), config.width,
                                   *owned, source.norm_offset));
  const std::string output(source.names.output);
  if (table.has(output)) {
    TRY(model.output, table.take(output, config.vocabulary, config.width));
  }
  model.owned = std::move(owned);
  return ok_status();
}

}  // namespace kantha::model
