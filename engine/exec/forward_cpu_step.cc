#include "engine/exec/forward_cpu_step.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "engine/exec/row_kernels.h"
#include "engine/ops/cpu/embedding_row.h"

namespace kantha::exec {
namespace {

using ops::cpu::is_quantised;
using ops::cpu::kBlock;
using ops::cpu::kGroupRows;
using ops::cpu::kPanelTokens;
using ops::cpu::PackedMatrix;

constexpr std::int64_t kTile = kPanelTokens * kGroupRows;

/// tile [tokens, 16] += bias [16].
void add_bias(const float* bias, std::int64_t tokens, float* tile) {
  for (std::int64_t t = 0; t < tokens; ++t, tile += kGroupRows) {
    for (std::int64_t i = 0; i < kGroupRows; ++i) tile[i] += bias[i];
  }
}

/// Rows of group `group` that are real.
std::int64_t group_rows(const PackedMatrix& matrix, std::int64_t group) {
  return std::min(kGroupRows, matrix.rows - group * kGroupRows);
}

}  // namespace

CpuStep::CpuStep(const CpuStepContext& context, int thread)
    : c_(context),
      config_(context.weights.config),
      kernels_(context.kernels),
      scratch_(context.scratch),
      own_(context.scratch.threads[static_cast<std::size_t>(thread)]),
      thread_(thread) {}

void CpuStep::run() {
  stage([&] { embed(); });
  for (std::int64_t i = 0; i < config_.layers; ++i) layer(i, i + 1 == config_.layers);
  if (!c_.batch.logit_rows.empty()) write_logits();
}

void CpuStep::embed() {
  const auto rows = static_cast<std::int64_t>(c_.batch.token_ids.size());
  c_.stages.take(thread_, rows, [&](std::int64_t row) {
    const TokenId token = c_.batch.token_ids[static_cast<std::size_t>(row)];
    float* x = scratch_.x + row * config_.width;
    ops::cpu::embedding_row(c_.weights.embedding, token, x);
    if (config_.embedding_scale != 1) {
      kernels_.scale_row(x, config_.embedding_scale, config_.width, x);
    }
    for (std::size_t rope = 0; rope < c_.weights.ropes.size(); ++rope) write_rotations(row, rope);
  });
}

void CpuStep::write_rotations(std::int64_t row, std::size_t rope) {
  const model::RopeTable& table = c_.weights.ropes[rope];
  const std::int64_t size = config_.head_size;
  const double position = c_.batch.positions[static_cast<std::size_t>(row)];
  float* cosines = rotations(row, rope);
  float* sines = cosines + size + 16;
  for (std::int64_t d = 0; d < size; d += 2) {
    const bool turns = d < config_.rope_dims;
    const double angle =
        turns ? position * table.frequencies[static_cast<std::size_t>(d / 2)] : 0.0;
    const float magnitude = turns ? table.magnitude : 1.0F;
    const float sine = static_cast<float>(std::sin(angle)) * magnitude;
    cosines[d] = cosines[d + 1] = static_cast<float>(std::cos(angle)) * magnitude;
    sines[d] = -sine;
    sines[d + 1] = sine;
  }
  // Sixteen more, so that a group of 16 rows that crosses heads can load past the end.
  for (std::int64_t d = size; d < size + 16; ++d) {
    cosines[d] = cosines[d % size];
    sines[d] = sines[d % size];
  }
}

void CpuStep::layer(std::int64_t index, bool is_last) {
  const CpuLayer& layer = c_.weights.layers[static_cast<std::size_t>(index)];
  auto rows = static_cast<std::int64_t>(c_.batch.token_ids.size());
  float* x = scratch_.x;
  const bool q8 =
      is_quantised(layer.q.type) || is_quantised(layer.k.type) || is_quantised(layer.v.type);
  const InputRows attention_in{x, rows, layer.attention_norm, q8, kQkvGrain};
  prepare_many(attention_in);
  stage([&] { query_key_value(layer, index, prepared(attention_in)); });
  if (layer.q_norm != nullptr) stage([&] { normalise_heads(layer, index); });
  if (is_last) {
    // Only the rows whose logits are wanted go on; they move together.
    rows = static_cast<std::int64_t>(c_.last.rows.size());
    if (rows == 0) return;
    stage([&] { gather_last_rows(); });
    x = scratch_.x_logits;
  }
  stage([&] { attend(index, is_last ? c_.last : c_.all); });
  const InputRows out_in{scratch_.attention.f32,     rows,      nullptr,
                         is_quantised(layer.o.type), kOutGrain, true};
  const Projection out{layer.o, layer.o_bias, layer.post_attention_norm};
  prepare_many(out_in);
  stage([&] { project(out, prepared(out_in), rows, x); });
  if (out.norm != nullptr) stage([&] { add_normalised(out, rows, x); });
  const InputRows ffn_in{x, rows, layer.ffn_norm,
                         is_quantised(layer.gate.type) || is_quantised(layer.up.type),
                         kGateUpGrain};
  const Projection down{layer.down, nullptr, layer.post_ffn_norm};
  prepare_many(ffn_in);
  stage([&] { gate_up(layer, prepared(ffn_in), rows); });
  stage([&] { project(down, ffn_activations(), rows, x); });
  if (down.norm != nullptr) stage([&] { add_normalised(down, rows, x); });
}

void CpuStep::gather_last_rows() {
  c_.stages.take(thread_, static_cast<std::int64_t>(c_.last.rows.size()), [&](std::int64_t i) {
    const float* from = scratch_.x + c_.last.rows[static_cast<std::size_t>(i)] * config_.width;
    std::copy_n(from, config_.width, scratch_.x_logits + i * config_.width);
  });
}

/// Few rows are prepared by each thread for itself, which saves a stage and the traffic between
/// cores; many are shared out.
Activations CpuStep::prepared_place(const InputRows& in) const {
  const bool alone = in.count <= kPanelTokens;
  Activations to = in.is_attention ? (alone ? own_.attention : scratch_.attention)
                                   : (alone ? own_.width : scratch_.width);
  to.grain = in.grain;
  return to;
}

void CpuStep::prepare_row(const InputRows& in, std::int64_t row, const Activations& to) const {
  const float* values = in.from + row * to.cols;
  if (in.norm != nullptr) {
    float* normal = to.f32 + row * to.cols;
    kernels_.rmsnorm_row(values, in.norm, to.cols, config_.norm_epsilon, normal);
    values = normal;
  } else if (!in.is_attention) {
    std::copy_n(values, to.cols, to.f32 + row * to.cols);
  }
  if (in.q8) quantise(values, to.cols, to, row);
}

/// A stage that prepares the rows where they are many.
void CpuStep::prepare_many(const InputRows& in) {
  if (in.count <= kPanelTokens || (in.is_attention && !in.q8)) return;
  const Activations to = prepared_place(in);
  stage([&] {
    c_.stages.take(thread_, (in.count + kPanelTokens - 1) / kPanelTokens, [&](std::int64_t panel) {
      const std::int64_t end = std::min(in.count, (panel + 1) * kPanelTokens);
      for (std::int64_t row = panel * kPanelTokens; row < end; ++row) prepare_row(in, row, to);
    });
  });
}

/// Inside a stage after prepare_many(): the rows, ready for a matrix.
Activations CpuStep::prepared(const InputRows& in) {
  if (in.is_attention && !in.q8) return scratch_.attention;
  const Activations to = prepared_place(in);
  if (in.count <= kPanelTokens) {
    for (std::int64_t row = 0; row < in.count; ++row) prepare_row(in, row, to);
  }
  return to;
}

/// Writes `count` values into row `index` of the panels, from block `first_block` on.
void CpuStep::quantise(const float* row, std::int64_t count, const Activations& to,
                       std::int64_t index, std::int64_t first_block) const {
  CHECK(!to.grain.is_fine || count == to.cols, "a fine row is rounded as a whole");
  std::byte* panel =
      to.q8 + index / kPanelTokens * to.panel_bytes() + first_block * to.block_bytes();
  if (!to.grain.is_fine) {
    kernels_.quantise_row(row, count, panel, index % kPanelTokens);
  } else {
    kernels_.quantise_row_fine(row, count, to.grain.fine_from, panel, index % kPanelTokens);
  }
}

void CpuStep::gemm(const PackedMatrix& matrix, std::int64_t group, const Activations& in,
                   std::int64_t panel, std::int64_t tokens, float* tile) const {
  const auto& table = in.grain.is_fine ? kernels_.gemm_fine : kernels_.gemm;
  table[static_cast<std::size_t>(matrix.type)](matrix.group(group), matrix.cols, in.panel(panel),
                                               tokens, tile);
}

/// x [rows, width] += residual scale · (matrix · in + bias); where that is normalised first, it
/// waits in scratch for add_normalised().
void CpuStep::project(const Projection& to, const Activations& in, std::int64_t rows, float* x) {
  const PackedMatrix& matrix = to.matrix;
  for_each_tile(
      matrix.groups, rows, [&](std::int64_t group, std::int64_t panel, std::int64_t tokens) {
        gemm(matrix, group, in, panel, tokens, own_.tiles);
        const std::int64_t first = group * kGroupRows;
        if (to.bias != nullptr) add_bias(to.bias + first, tokens, own_.tiles);
        const std::int64_t at = panel * kPanelTokens * config_.width + first;
        const std::int64_t count = group_rows(matrix, group);
        if (to.norm != nullptr) {
          kernels_.store_tile(own_.tiles, tokens, count, scratch_.projected + at, config_.width);
          return;
        }
        if (config_.residual_scale != 1) {
          kernels_.scale_row(own_.tiles, config_.residual_scale, tokens * kGroupRows, own_.tiles);
        }
        kernels_.add_tile(own_.tiles, tokens, count, x + at, config_.width);
      });
}

/// x [rows, width] += residual scale · norm(projected).
void CpuStep::add_normalised(const Projection& from, std::int64_t rows, float* x) {
  const std::int64_t width = config_.width;
  c_.stages.take(thread_, rows, [&](std::int64_t row) {
    float* normal = own_.width.f32;
    kernels_.rmsnorm_row(scratch_.projected + row * width, from.norm, width, config_.norm_epsilon,
                         normal);
    float* to = x + row * width;
    for (std::int64_t i = 0; i < width; ++i) to[i] += config_.residual_scale * normal[i];
  });
}

/// Two groups at a time: their 32 results are one block of the next matrix's input.
void CpuStep::gate_up(const CpuLayer& layer, const Activations& in, std::int64_t rows) {
  const Activations out = ffn_activations();
  const bool q8 = is_quantised(layer.down.type);
  const std::int64_t groups = layer.gate.groups;
  float* gate = own_.tiles;
  float* up = own_.tiles + kTile;
  const auto combine = config_.gate == model::GateActivation::kGeluTanh ? kernels_.gelu_mul_tile
                                                                        : kernels_.silu_mul_tile;
  for_each_tile((groups + 1) / 2, rows,
                [&](std::int64_t unit, std::int64_t panel, std::int64_t tokens) {
                  float* to = own_.ffn_block;
                  std::int64_t stride = kBlock;
                  if (!q8) {
                    to = out.f32 + panel * kPanelTokens * out.cols + unit * kBlock;
                    stride = out.cols;
                  }
                  for (std::int64_t g = unit * 2; g < std::min(groups, unit * 2 + 2); ++g) {
                    gemm(layer.gate, g, in, panel, tokens, gate);
                    gemm(layer.up, g, in, panel, tokens, up);
                    combine(gate, up, tokens, gate, kGroupRows);
                    kernels_.store_tile(gate, tokens, group_rows(layer.gate, g),
                                        to + g % 2 * kGroupRows, stride);
                  }
                  if (!q8) return;
                  for (std::int64_t t = 0; t < tokens; ++t) {
                    quantise(to + t * kBlock, kBlock, out, panel * kPanelTokens + t, unit);
                  }
                });
}

void CpuStep::write_logits() {
  const PackedMatrix& matrix = c_.weights.output;
  const auto rows = static_cast<std::int64_t>(c_.batch.logit_rows.size());
  const InputRows rows_in{scratch_.x_logits, rows, c_.weights.output_norm,
                          is_quantised(matrix.type), kLogitsGrain};
  prepare_many(rows_in);
  stage([&] { write_logit_blocks(prepared(rows_in), rows); });
}

/// Scale and cap of `count` logits of a tile.
void CpuStep::finish_logits(std::int64_t count, float* tile) const {
  if (config_.logit_scale != 1) kernels_.scale_row(tile, config_.logit_scale, count, tile);
  if (config_.logit_cap != 0) kernels_.cap_row(tile, count, config_.logit_cap);
}

/// By blocks of logits, so that the one who has written a block also notes what sampling
/// will ask for while they are in the cache.
void CpuStep::write_logit_blocks(const Activations& in, std::int64_t rows) {
  const PackedMatrix& matrix = c_.weights.output;
  constexpr std::int64_t kBlockGroups = static_cast<std::int64_t>(kLogitBlock) / kGroupRows;
  const auto blocks =
      static_cast<std::int64_t>(logit_blocks(static_cast<std::size_t>(matrix.rows)));
  for_each_panels(blocks, rows, [&](std::int64_t block, std::int64_t first, std::int64_t last) {
    const std::int64_t end = std::min(matrix.groups, (block + 1) * kBlockGroups);
    for (std::int64_t group = block * kBlockGroups; group < end; ++group) {
      for (std::int64_t panel = first; panel < last; ++panel) {
        const std::int64_t tokens = std::min(kPanelTokens, rows - panel * kPanelTokens);
        gemm(matrix, group, in, panel, tokens, own_.tiles);
        finish_logits(tokens * kGroupRows, own_.tiles);
        float* to = c_.logits.data() + panel * kPanelTokens * matrix.rows + group * kGroupRows;
        kernels_.store_tile(own_.tiles, tokens, group_rows(matrix, group), to, matrix.rows);
      }
    }
    if (c_.notes.maxima.empty()) return;
    const std::int64_t start = block * static_cast<std::int64_t>(kLogitBlock);
    const auto count =
        static_cast<std::size_t>(std::min<std::int64_t>(kLogitBlock, matrix.rows - start));
    for (std::int64_t row = first * kPanelTokens; row < std::min(rows, last * kPanelTokens);
         ++row) {
      note_block(c_.notes, static_cast<std::size_t>(row), static_cast<std::size_t>(block),
                 {c_.logits.data() + row * matrix.rows + start, count});
    }
  });
}

}  // namespace kantha::exec
