#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/exec/forward_factory.h"
#include "engine/model/llama_model.h"
#include "engine/ops/cpu/aligned_buffer.h"
#include "engine/ops/cpu/packed_matrix.h"
#include "engine/ops/cpu/thread_pool.h"

namespace kantha::exec {

/// One layer as the kernels want it; norms are aligned f32 copies.
struct CpuLayer {
  const float* attention_norm = nullptr;  ///< [width]
  const float* ffn_norm = nullptr;        ///< [width]
  ops::cpu::PackedMatrix q, k, v, o;
  ops::cpu::PackedMatrix gate, up;  ///< alternate group by group in memory
  ops::cpu::PackedMatrix down;
};

/// A whole model packed for the CPU, in the order in which a step reads it.
struct CpuWeights {
  model::LlamaConfig config;
  std::vector<CpuLayer> layers;
  const float* output_norm = nullptr;  ///< [width]
  ops::cpu::PackedMatrix output;
  ops::TensorView embedding;  ///< still in the model's file: rows are dequantised on use
  ops::cpu::AlignedBuffer arena;
};

/// Checks every tensor's type, shape and size against the config; the field names the tensor.
/// Errors: kInvalidArgument.
Status check_model(const model::LlamaModel& model);

/// Packs a checked model, on all threads of `pool`; tells `progress` (may be empty) its bytes.
/// Errors: kResourceExhausted.
Result<CpuWeights> pack_weights(const model::LlamaModel& model, ops::cpu::ThreadPool& pool,
                                const PackProgress& progress = {});

}  // namespace kantha::exec
