#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/llama_model.h"

/// What each architecture is made of, one row of a table each: everything that readers of files
/// need to know, so that there is one reader and one forward pass for all.
namespace kantha::model {

/// Which layers attend to a window only, where the file gives its size.
enum class WindowRule : std::uint8_t {
  kNone,           ///< a file with a window is refused
  kAll,            ///< every layer
  kAllButEachNth,  ///< all but layers n − 1, 2n − 1, … (ArchitectureTraits::window_period)
  kFromLayer,      ///< qwen2: from max_window_layers on, and only where use_sliding_window says so
};

enum class QkNorm : std::uint8_t { kNone, kPerHead, kAllHeads };
/// kOptional: those that the file has.
enum class Bias : std::uint8_t { kNone, kOptional, kRequired };

struct ArchitectureTraits {
  std::string_view name;     ///< GGUF's general.architecture; also the prefix of its keys
  std::string_view hf_type;  ///< config.json's model_type
  RopePairs gguf_pairs = RopePairs::kHalves;  ///< in Hugging Face folders always halves
  GateActivation gate = GateActivation::kSilu;
  bool pre_norms = true;    ///< before attention and feed-forward
  bool post_norms = false;  ///< of what attention and feed-forward add
  QkNorm qk_norm = QkNorm::kNone;
  Bias qkv_bias = Bias::kNone;
  Bias o_bias = Bias::kNone;
  bool is_fused = false;  ///< q, k, v are one tensor, and gate and up
  WindowRule window = WindowRule::kNone;
  std::int32_t window_period = 0;
  std::int32_t window_default = 0;    ///< where the file gives none
  float windowed_base = 0;            ///< rope base in layers with a window; 0 = as in the others
  std::int32_t unrotated_period = 0;  ///< layers n − 1, 2n − 1, … do not rotate; 0 = all do
  bool scales_embedding = false;      ///< by sqrt(width)
  bool has_multipliers = false;       ///< of embedding, residual, attention and logits
  bool has_caps = false;              ///< of scores and logits
  float attention_cap_default = 0;
  float logit_cap_default = 0;
  std::int32_t hf_head_size = 0;  ///< where config.json gives none; 0 = hidden_size / heads
  float hf_rope_base = 10000;     ///< where config.json gives none
  bool hf_norms_add_one = false;  ///< a folder's norm weights are w − 1; a GGUF's are w
  /// A GGUF of so many layers scales scores by 1 / sqrt(width / heads), without saying so; 0 =
  /// none.
  std::int32_t odd_scale_layers = 0;
};

/// All rows.
std::span<const ArchitectureTraits> architectures();
/// By GGUF name, or by config.json's model_type; null when there is none.
const ArchitectureTraits* architecture_named(std::string_view name);
const ArchitectureTraits* architecture_of_hf(std::string_view model_type);
/// "llama, qwen2, …" for messages.
std::string architecture_names();

/// [layers] 1 where a layer has the window, by a rule other than kFromLayer; empty = all have it.
std::vector<std::uint8_t> windowed_layers(const ArchitectureTraits& traits, std::int32_t layers);
/// [layers] 1 where a layer does not rotate; empty = all do.
std::vector<std::uint8_t> unrotated_layers(std::int32_t period, std::int32_t layers);

/// Sets what follows from the architecture and the sizes alone: gate, embedding scale, which layers
/// rotate, default caps. layers and width must be set.
void set_by_architecture(const ArchitectureTraits& traits, LlamaConfig& config);

}  // namespace kantha::model
