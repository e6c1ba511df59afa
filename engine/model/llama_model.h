#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "engine/ops/tensor.h"

/// A decoder-only transformer as plain data: shapes, rules and borrowed weights. It began as llama;
/// what other architectures do differently is a value here (architectures.h says which has which).
namespace kantha::model {

/// Which elements of a head turn together.
enum class RopePairs : std::uint8_t {
  kNeighbours,  ///< (2i, 2i + 1): llama-like GGUFs
  kHalves,      ///< (i, i + dims / 2): everything else, and all Hugging Face folders
};

/// f in the feed-forward's f(gate) · up.
enum class GateActivation : std::uint8_t { kSilu, kGeluTanh };

struct LlamaConfig {
  std::int32_t layers = 0;
  std::int32_t width = 0;     ///< hidden size
  std::int32_t heads = 0;     ///< query heads
  std::int32_t kv_heads = 0;  ///< divides heads
  std::int32_t head_size = 0;
  std::int32_t ffn_width = 0;
  std::int32_t vocabulary = 0;
  std::int32_t context = 0;  ///< positions that the model was trained for
  float rope_base = 10000.0F;
  std::int32_t rope_dims = 0;  ///< rotated dimensions per head, ≤ head_size
  float norm_epsilon = 1e-5F;
  /// A token attends to the last so many positions, its own included, in layers with a window; 0 =
  /// no layer has one.
  std::int32_t sliding_window = 0;
  /// [layers] 1 = the layer has the window; empty = every layer has it.
  std::vector<std::uint8_t> windowed = {};

  RopePairs rope_pairs = RopePairs::kNeighbours;
  /// [rope_dims / 2] what each pair's frequency is divided by; empty = ones.
  std::vector<double> rope_divisors = {};
  /// The same where more than rope_original_context positions are served; empty = no other.
  std::vector<double> rope_divisors_long = {};
  std::int32_t rope_original_context = 0;  ///< before stretching; 0 = not stretched
  float rope_magnitude = 1;                ///< factor on cosines and sines
  /// Base in layers with a window, whose positions are not stretched; 0 = as in the others.
  float rope_base_windowed = 0;
  /// [layers] 1 = the layer does not rotate; empty = every layer does.
  std::vector<std::uint8_t> unrotated = {};
  /// b in a query's factor 1 + b · ln(1 + ⌊position / rope_original_context⌋).
  float query_growth = 0;

  float attention_scale = 0;  ///< factor on q · k; 0 = 1 / sqrt(head_size)
  float attention_cap = 0;    ///< c in c · tanh(score / c); 0 = none
  float logit_cap = 0;        ///< the same on logits
  GateActivation gate = GateActivation::kSilu;
  float embedding_scale = 1;
  float residual_scale = 1;  ///< on what attention and feed-forward add
  float logit_scale = 1;

  /// Of one layer; 0 = it attends to everything.
  std::int32_t window(std::int32_t layer) const {
    const bool has = windowed.empty() || windowed[static_cast<std::size_t>(layer)] != 0;
    return has ? sliding_window : 0;
  }
  bool rotates(std::int32_t layer) const {
    return unrotated.empty() || unrotated[static_cast<std::size_t>(layer)] == 0;
  }
  /// True where a layer turns by rope_base_windowed.
  bool has_windowed_base(std::int32_t layer) const {
    return rope_base_windowed > 0 && window(layer) > 0;
  }
  std::int64_t q_width() const { return std::int64_t{heads} * head_size; }
  std::int64_t kv_width() const { return std::int64_t{kv_heads} * head_size; }
};

/// One decoder layer. Views that an architecture has no use for are empty.
struct LlamaLayer {
  ops::TensorView attention_norm;  ///< [width] f32; empty: the input goes in as it is
  ops::TensorView q;               ///< [heads * head_size, width]
  ops::TensorView k;               ///< [kv_width, width]
  ops::TensorView v;               ///< [kv_width, width]
  ops::TensorView o;               ///< [width, heads * head_size]
  ops::TensorView ffn_norm;        ///< [width] f32; empty: as above
  ops::TensorView gate;            ///< [ffn_width, width]
  ops::TensorView up;              ///< [ffn_width, width]
  ops::TensorView down;            ///< [width, ffn_width]

  ops::TensorView q_bias = {};  ///< [heads * head_size] f32
  ops::TensorView k_bias = {};  ///< [kv_width] f32
  ops::TensorView v_bias = {};  ///< [kv_width] f32
  ops::TensorView o_bias = {};  ///< [width] f32
  /// RMS norms before rotation, f32: [head_size] of each head, or [q_width] and [kv_width] of all
  /// heads at once. Both or neither.
  ops::TensorView q_norm = {};
  ops::TensorView k_norm = {};
  ops::TensorView post_attention_norm = {};  ///< [width] f32, of what attention adds
  ops::TensorView post_ffn_norm = {};        ///< [width] f32, of what the feed-forward adds
};

/// Whole model; the views point into a mapped file that outlives it.
struct LlamaModel {
  LlamaConfig config;
  ops::TensorView embedding;  ///< [vocabulary, width]
  std::vector<LlamaLayer> layers;
  ops::TensorView output_norm;  ///< [width] f32
  ops::TensorView output;       ///< [vocabulary, width]; equal to embedding when tied
  /// What some views borrow instead: values that the file has in another form.
  std::shared_ptr<const std::deque<std::vector<float>>> owned = {};
};

}  // namespace kantha::model
