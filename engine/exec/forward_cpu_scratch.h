#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/exec/forward_factory.h"
#include "engine/ops/cpu/aligned_buffer.h"
#include "engine/ops/cpu/kernel_table.h"

namespace kantha::exec {

/// How finely a quantised matrix's inputs are rounded: to int8 or to 15 bits in two int8 parts.
enum class Grain : std::uint8_t { kCoarse, kFine };

/// The grain of each stage. Mean |Δ log p| of the next token against f32, SmolLM2-135M Q4_1, five
/// texts: all coarse 0.036–0.071; logits and qkv fine 0.025–0.050; those and gate·up 0.015–0.031;
/// all fine about 0.01. A fine stage costs twice the integer work, which a lone stream does not
/// feel: it waits for memory.
inline constexpr Grain kQkvGrain = Grain::kFine;
inline constexpr Grain kOutGrain = Grain::kCoarse;
inline constexpr Grain kGateUpGrain = Grain::kFine;
inline constexpr Grain kDownGrain = Grain::kCoarse;
inline constexpr Grain kLogitsGrain = Grain::kFine;

/// Inputs of a matrix for up to `rows` tokens in both forms; a step fills those that are wanted.
struct Activations {
  std::byte* q8 =
      nullptr;           ///< [panels, cols / 32] panel blocks; null where 32 does not divide cols
  float* f32 = nullptr;  ///< [rows, cols]
  std::int64_t cols = 0;
  Grain grain = Grain::kCoarse;

  std::int64_t block_bytes() const {
    return grain == Grain::kFine ? ops::cpu::kFinePanelBlockBytes : ops::cpu::kPanelBlockBytes;
  }
  std::int64_t panel_bytes() const { return cols / ops::cpu::kBlock * block_bytes(); }
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
  float* rotations = nullptr;  ///< [rows, 2, head_size + 16] cosines and signed sines
  Activations width;           ///< normalised x
  Activations attention;       ///< f32: attention's output
  Activations ffn;             ///< silu(gate) · up
  std::vector<ThreadScratch> threads;
  ops::cpu::AlignedBuffer arena;

  static Result<CpuScratch> allocate(const model::LlamaConfig& config,
                                     const ForwardOptions& options);
};

/// Query rows that attention takes at once: rows of a sequence times heads of a KV group.
inline constexpr std::int32_t kAttentionQueries = 12;
std::int32_t attention_rows_per_item(const model::LlamaConfig& config);

}  // namespace kantha::exec
