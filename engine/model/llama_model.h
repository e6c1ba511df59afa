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
