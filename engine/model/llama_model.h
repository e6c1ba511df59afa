#pragma once

#include <cstdint>
#include <vector>

#include "engine/ops/tensor.h"

/// A llama-architecture model as plain data: shapes and borrowed weights.
namespace kantha::model {

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

  /// Of one layer; 0 = it attends to everything.
  std::int32_t window(std::int32_t layer) const {
    const bool has = windowed.empty() || windowed[static_cast<std::size_t>(layer)] != 0;
    return has ? sliding_window : 0;
  }
  std::int64_t kv_width() const { return std::int64_t{kv_heads} * head_size; }
};

/// One decoder layer. Rotary pairs in llama-architecture GGUFs are neighbours: (2i, 2i + 1).
struct LlamaLayer {
  ops::TensorView attention_norm;  ///< [width] f32
  ops::TensorView q;               ///< [heads * head_size, width]
  ops::TensorView k;               ///< [kv_width, width]
  ops::TensorView v;               ///< [kv_width, width]
  ops::TensorView o;               ///< [width, heads * head_size]
  ops::TensorView ffn_norm;        ///< [width] f32
  ops::TensorView gate;            ///< [ffn_width, width]
  ops::TensorView up;              ///< [ffn_width, width]
  ops::TensorView down;            ///< [width, ffn_width]
};

/// Whole model; the views point into a mapped file that outlives it.
struct LlamaModel {
  LlamaConfig config;
  ops::TensorView embedding;  ///< [vocabulary, width]
  std::vector<LlamaLayer> layers;
  ops::TensorView output_norm;  ///< [width] f32
  ops::TensorView output;       ///< [vocabulary, width]; equal to embedding when tied
};

}  // namespace kantha::model
