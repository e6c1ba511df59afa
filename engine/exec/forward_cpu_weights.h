#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/exec/forward_factory.h"
#include "engine/model/llama_model.h"
#include "engine/model/rope_scaling.h"
#include "engine/ops/cpu/aligned_buffer.h"
#include "engine/ops/cpu/packed_matrix.h"
#include "engine/ops/cpu/thread_pool.h"

namespace kantha::exec {

/// One layer as the kernels want it; norms and biases are aligned f32 copies, null where the model
/// has none. Where a model rotates halves of heads, rows of q and k, their biases and norms are
/// rearranged so that pairs are neighbours: q · k is the same.
struct CpuLayer {
  const float* attention_norm = nullptr;       ///< [width]
  const float* ffn_norm = nullptr;             ///< [width]
  const float* post_attention_norm = nullptr;  ///< [width]
  const float* post_ffn_norm = nullptr;        ///< [width]
  const float* q_norm = nullptr;               ///< [head_size], or all heads
  const float* k_norm = nullptr;
  const float* q_bias = nullptr;  ///< [heads · head_size]
  const float* k_bias = nullptr;  ///< [kv_width]
  const float* v_bias = nullptr;  ///< [kv_width]
  const float* o_bias = nullptr;  ///< [width]
  bool norms_each_head = false;   ///< q_norm and k_norm are [head_size]
  ops::cpu::PackedMatrix q, k, v, o;
  ops::cpu::PackedMatrix gate, up;  ///< alternate group by group in memory
  ops::cpu::PackedMatrix down;
};

/// A whole model packed for the CPU, in the order in which a step reads it.
struct CpuWeights {
  model::LlamaConfig config;
  std::vector<model::RopeTable> ropes;  ///< of all layers, and of those with a window
  std::vector<CpuLayer> layers;
  const float* output_norm = nullptr;  ///< [width]
  ops::cpu::PackedMatrix output;
  ops::TensorView embedding;  ///< still in the model's file: rows are dequantised on use
  ops::cpu::AlignedBuffer arena;
};

/// Checks every tensor's type, shape and size against the config; the field names the tensor.
/// Errors: kInvalidArgument.
Status check_model(const model::LlamaModel& model);

/// Packs a checked model, on all threads of `pool`; tells options.plan and options.progress
/// its bytes and options.release what it has read (all may be empty). Errors: kResourceExhausted.
Result<CpuWeights> pack_weights(const model::LlamaModel& model, ops::cpu::ThreadPool& pool,
                                const ForwardOptions& options = {});

}  // namespace kantha::exec
