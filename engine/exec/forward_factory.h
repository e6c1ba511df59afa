#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/exec/forward.h"
#include "engine/model/llama_model.h"

/// The ways to run a model. Both are compared with each other for ever.
namespace kantha::exec {

using PackProgress = std::function<void(std::int64_t done, std::int64_t total)>;

struct ForwardOptions {
  KvShape kv;
  std::int32_t rows_max = 512;       ///< largest T of one batch
  std::int32_t logit_rows_max = 64;  ///< largest S of one batch
  std::int32_t threads = 1;          ///< compute threads, the caller's included
  /// Positions that will be served, which decides between long and short rope factors; 0: as many
  /// as the model was trained for.
  std::int32_t context = 0;
  /// Told how many of how many bytes of weights are prepared, on the calling thread; may be empty.
  PackProgress progress = {};
  /// Told once which bytes of the model will be copied, in about the order in which they are; may
  /// be empty.
  std::function<void(std::vector<std::span<const std::byte>> order)> plan = {};
  /// Told which bytes of the model were copied and are hardly read again; may be empty. Called on
  /// all compute threads at once.
  std::function<void(std::span<const std::byte>)> release = {};
};

/// Plain truth: f32 loops over dequantised weights, one thread, f32 KV. Slow on purpose.
Result<std::unique_ptr<Forward>> make_forward_ref(const model::LlamaModel& model,
                                                  const ForwardOptions& options);

/// Vectorised CPU path: packed weights, int8 activations for quantised types, thread pool.
/// kUnimplemented names the missing CPU feature (AVX2 and FMA are the floor).
Result<std::unique_ptr<Forward>> make_forward_cpu(const model::LlamaModel& model,
                                                  const ForwardOptions& options);

/// Bytes that one KV block takes in each (block_size tokens of one group of layers, kv_layout.h),
/// for sizing the pool from a memory budget.
std::int64_t kv_block_bytes_ref(const model::LlamaConfig& config, std::int32_t block_size);
std::int64_t kv_block_bytes_cpu(const model::LlamaConfig& config, std::int32_t block_size);

}  // namespace kantha::exec
