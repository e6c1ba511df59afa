#include "engine/model/architectures.h"

#include <algorithm>
#include <cmath>

namespace kantha::model {
namespace {

// Sources: each architecture's modeling_*.py in transformers for what is computed; the GGUF page
// and files in circulation for names, order of rows and what converters leave out.
constexpr ArchitectureTraits kArchitectures[] = {
    {.name = "llama",
     .hf_type = "llama",
     .gguf_pairs = RopePairs::kNeighbours,
     .qkv_bias = Bias::kOptional,
     .o_bias = Bias::kOptional},
    // A GGUF of such a model calls itself llama and has no window; this row is for folders.
    {.name = "mistral",
     .hf_type = "mistral",
     .gguf_pairs = RopePairs::kNeighbours,
     .window = WindowRule::kAll},
    {.name = "mistral3",
     .hf_type = "ministral3",
     .gguf_pairs = RopePairs::kNeighbours,
     .window = WindowRule::kAll,
     .hf_head_size = 128,
     .hf_rope_base = 1e6F},
    {.name = "qwen2",
     .hf_type = "qwen2",
     .qkv_bias = Bias::kRequired,
     .window = WindowRule::kFromLayer},
    {.name = "qwen3",
     .hf_type = "qwen3",
     .qk_norm = QkNorm::kPerHead,
     .qkv_bias = Bias::kOptional,
     .o_bias = Bias::kOptional,
     .window = WindowRule::kFromLayer,
     .hf_head_size = 128},
    {.name = "gemma2",
     .hf_type = "gemma2",
     .gate = GateActivation::kGeluTanh,
     .post_norms = true,
     .window = WindowRule::kAllButEachNth,
     .window_period = 2,
     .window_default = 4096,
     .scales_embedding = true,
     .has_caps = true,
     .attention_cap_default = 50,
     .logit_cap_default = 30,
     .hf_head_size = 256,
     .hf_norms_add_one = true,
     .odd_scale_layers = 46},
    {.name = "gemma3",
     .hf_type = "gemma3_text",
     .gate = GateActivation::kGeluTanh,
     .post_norms = true,
     .qk_norm = QkNorm::kPerHead,
     .window = WindowRule::kAllButEachNth,
     .window_period = 6,
     .windowed_base = 10000,
     .scales_embedding = true,
     .has_caps = true,
     .hf_head_size = 256,
     .hf_rope_base = 1e6F,
     .hf_norms_add_one = true,
     .odd_scale_layers = 62},
    {.name = "phi3", .hf_type = "phi3", .is_fused = true, .window = WindowRule::kAll},
    {.name = "granite",
     .hf_type = "granite",
     .gguf_pairs = RopePairs::kNeighbours,
     .qkv_bias = Bias::kOptional,
     .o_bias = Bias::kOptional,
     .has_multipliers = true},
    {.name = "olmo2",
     .hf_type = "olmo2",
     .pre_norms = false,
     .post_norms = true,
     .qk_norm = QkNorm::kAllHeads},
    {.name = "smollm3",
     .hf_type = "smollm3",
     .gguf_pairs = RopePairs::kNeighbours,
     .qkv_bias = Bias::kOptional,
     .o_bias = Bias::kOptional,
     .unrotated_period = 4,
     .hf_rope_base = 2e6F},
};

const ArchitectureTraits* find(std::string_view ArchitectureTraits::* key, std::string_view name) {
  for (const ArchitectureTraits& row : kArchitectures) {
    if (row.*key == name) return &row;
  }
  return nullptr;
}

/// [layers] `value` in layers n − 1, 2n − 1, … and the other of 0 and 1 elsewhere.
std::vector<std::uint8_t> each_nth(std::int32_t period, std::int32_t layers, std::uint8_t value) {
  std::vector<std::uint8_t> marks(static_cast<std::size_t>(layers));
  for (std::int32_t i = 0; i < layers; ++i) {
    const bool is_nth = (i + 1) % period == 0;
    marks[static_cast<std::size_t>(i)] = is_nth ? value : static_cast<std::uint8_t>(1 - value);
  }
  return marks;
}

}  // namespace

std::span<const ArchitectureTraits> architectures() { return kArchitectures; }

const ArchitectureTraits* architecture_named(std::string_view name) {
  return find(&ArchitectureTraits::name, name);
}

const ArchitectureTraits* architecture_of_hf(std::string_view model_type) {
  return find(&ArchitectureTraits::hf_type, model_type);
}

std::string architecture_names() {
  std::string names;
  for (const ArchitectureTraits& row : kArchitectures) {
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return names;
}

std::vector<std::uint8_t> windowed_layers(const ArchitectureTraits& traits, std::int32_t layers) {
  if (traits.window != WindowRule::kAllButEachNth) return {};
  return each_nth(traits.window_period, layers, 0);
}

std::vector<std::uint8_t> unrotated_layers(std::int32_t period, std::int32_t layers) {
  if (period == 0) return {};
  return each_nth(period, layers, 1);
}

void set_by_architecture(const ArchitectureTraits& traits, LlamaConfig& config) {
  config.gate = traits.gate;
  config.unrotated = unrotated_layers(traits.unrotated_period, config.layers);
  config.attention_cap = traits.attention_cap_default;
  config.logit_cap = traits.logit_cap_default;
  if (traits.scales_embedding) {
    config.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(config.width)));
  }
}

}  // namespace kantha::model
