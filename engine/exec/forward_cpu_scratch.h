#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/exec/forward_factory.h"
#include "engine/ops/cpu/aligned_buffer.h"
#include "engine/ops/cpu/kernel_table.h"
#include "engine/ops/cpu/packed_matrix.h"

namespace kantha::exec {

/// How finely a quantised matrix's inputs are rounded: to int8, or where a block has large values
/// to 15 bits in two int8 parts.
struct Grain {
  bool is_fine = false;
  float fine_from = 0;  ///< a block is fine from so many times its row's root mean square on
};

/// The grain of each stage. Fine blocks cost twice the integer work, which a lone stream does not
/// feel: it waits for memory. A few blocks with large values do most of the rounding's harm: over
/// the 40 prompts of tests/golden the mean |Δ log p| against f32 is 0.033 with no block fine and
/// 0.0142 with all of qkv's, gate·up's and logits' (prefill: 890 tok/s); 0.0154 with these (a
/// fourth of the blocks; 965 tok/s, one core of a Sapphire Rapids). Single near ties come out the
/// one or the other way at each of them. Rows of the down matrix are rounded before they are whole.
inline constexpr Grain kQkvGrain = {true, 3};
inline constexpr Grain kOutGrain = {true, 3};
inline constexpr Grain kGateUpGrain = {true, 3};
inline constexpr Grain kDownGrain = {};
inline constexpr Grain kLogitsGrain = {true, 2};

/// Inputs of a matrix for up to `rows` tokens in both forms; a step fills those that are wanted.
struct Activations {
  std::byte* q8 =
      nullptr;           ///< [panels, cols / 32] panel blocks; null where 32 does not divide cols
  float* f32 = nullptr;  ///< [rows, cols]
  std::int64_t cols = 0;
  Grain grain;

  std::int64_t block_bytes() const {
    return grain.is_fine ? ops::cpu::kFinePanelBlockBytes : ops::cpu::kPanelBlockBytes;
  }
  std::int64_t panel_bytes() const { return ops::cpu::panel_bytes(cols, grain.is_fine); }
  ops::cpu::PanelView panel(std::int64_t index) const {
    return {q8 == nullptr ? nullptr : q8 + index * panel_bytes(),
            f32 + index * ops::cpu::kPanelTokens * cols, cols};
  }
};

/// What one thread uses alone.
struct ThreadScratch {
  Activations width;                 ///< up to 8 rows of [width]
  Activations attention;             ///< up to 8 rows of [heads · head_size]
  float* tiles = nullptr;            ///< [4, 8 tokens, 16] results of kernels
  float* ffn_block = nullptr;        ///< [8, 32]
  float* queries = nullptr;          ///< [Q, head_size], Q = queries of an attention item
  float* scores = nullptr;           ///< [Q, kAttentionPiece]
  float* softmax = nullptr;          ///< [4, Q]: max, sum, two scales
  float* out = nullptr;              ///< [Q, padded head_size]
  std::int32_t* hidden = nullptr;    ///< [Q]
  std::int32_t* visible = nullptr;   ///< [Q]
  std::uint16_t* k_tiles = nullptr;  ///< [kPieceTiles, head_size, 16], for odd block sizes
  std::uint16_t* v_tiles = nullptr;  ///< [kPieceTiles, 16, padded head_size]
};

/// All buffers of a step, taken once.
struct CpuScratch {
  float* x = nullptr;          ///< [rows, width] the residual stream
  float* x_logits = nullptr;   ///< [logit rows, width] its rows that go on after the last attention
  float* q = nullptr;          ///< [rows, heads · head_size] rotated queries
  float* rotations = nullptr;  ///< [rows, ropes, 2, head_size + 16] cosines and signed sines
  Activations width;           ///< normalised x
  Activations attention;       ///< f32: attention's output
  Activations ffn;             ///< f(gate) · up
  float* k = nullptr;          ///< [rows, kv_width] keys of models that normalise them
  float* projected = nullptr;  ///< [rows, width] what is normalised before it is added
  std::vector<ThreadScratch> threads;
  ops::cpu::AlignedBuffer arena;

  static Result<CpuScratch> allocate(const model::LlamaConfig& config,
                                     const ForwardOptions& options);
};

/// Query rows that attention takes at once: rows of a sequence times heads of a KV group.
inline constexpr std::int32_t kAttentionQueries = 12;
std::int32_t attention_rows_per_item(const model::LlamaConfig& config);

}  // namespace kantha::exec
