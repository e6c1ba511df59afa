#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/exec/forward_cpu_step.h"

namespace kantha::exec {
namespace {

using ops::cpu::kAttentionPiece;
using ops::cpu::kGroupRows;
using ops::cpu::kPanelTokens;
using ops::cpu::kTileTokens;
using ops::cpu::PackedMatrix;

/// values [16] += bias [16].
void add_to(float* values, const float* bias) {
  for (std::int64_t i = 0; i < kGroupRows; ++i) values[i] += bias[i];
}

}  // namespace

/// Queries go to scratch, keys and values straight to their pages: a group of 16 rows holds whole
/// rotary pairs, so no thread waits for another. Where heads are normalised, which needs them
/// whole, keys go to scratch too and normalise_heads() does the rest.
void CpuStep::query_key_value(const CpuLayer& layer, std::int64_t index, const Activations& in) {
  const auto rows = static_cast<std::int64_t>(c_.batch.token_ids.size());
  const std::int64_t before_k = layer.q.groups;
  const std::int64_t before_v = before_k + layer.k.groups;
  const bool is_whole = layer.q_norm == nullptr;
  float* tile = own_.tiles;
  for_each_tile(before_v + layer.v.groups, rows,
                [&](std::int64_t unit, std::int64_t panel, std::int64_t tokens) {
                  const bool is_q = unit < before_k;
                  const bool is_v = unit >= before_v;
                  const PackedMatrix& matrix = is_q ? layer.q : is_v ? layer.v : layer.k;
                  const float* bias = is_q ? layer.q_bias : is_v ? layer.v_bias : layer.k_bias;
                  const std::int64_t group = unit - (is_q ? 0 : is_v ? before_v : before_k);
                  const std::int64_t first = group * kGroupRows;
                  const std::int64_t count = std::min(kGroupRows, matrix.rows - first);
                  gemm(matrix, group, in, panel, tokens, tile);
                  for (std::int64_t t = 0; t < tokens; ++t) {
                    const std::int64_t row = panel * kPanelTokens + t;
                    float* values = tile + t * kGroupRows;
                    if (bias != nullptr) add_to(values, bias + first);
                    if (!is_v && is_whole) rotate(index, values, row, first);
                    if (is_q) {
                      std::copy_n(values, count, scratch_.q + row * matrix.rows + first);
                    } else if (is_v) {
                      write_value(index, row, first, count, values);
                    } else if (is_whole) {
                      write_key(index, row, first, count, values);
                    } else {
                      std::copy_n(values, count, scratch_.k + row * matrix.rows + first);
                    }
                  }
                });
}

/// Norm and rotation of the queries and keys of all rows; the keys go on to their pages.
void CpuStep::normalise_heads(const CpuLayer& layer, std::int64_t index) {
  const auto rows = static_cast<std::int64_t>(c_.batch.token_ids.size());
  c_.stages.take(thread_, rows * 2, [&](std::int64_t item) {
    const std::int64_t row = item / 2;
    const bool is_q = item % 2 == 0;
    const std::int64_t width = is_q ? config_.q_width() : config_.kv_width();
    float* values = (is_q ? scratch_.q : scratch_.k) + row * width;
    const float* norm = is_q ? layer.q_norm : layer.k_norm;
    const std::int64_t step = layer.norms_each_head ? config_.head_size : width;
    for (std::int64_t first = 0; first < width; first += step) {
      kernels_.rmsnorm_row(values + first, norm, step, config_.norm_epsilon, values + first);
    }
    rotate_row(index, values, row, width);
    if (is_q) return;
    for (std::int64_t first = 0; first < width; first += kGroupRows) {
      float key[kGroupRows] = {};
      const std::int64_t count = std::min(kGroupRows, width - first);
      std::copy_n(values + first, count, key);
      write_key(index, row, first, count, key);
    }
  });
}

/// values [16] of a row's heads from element `first` on.
void CpuStep::rotate(std::int64_t index, float* values, std::int64_t row,
                     std::int64_t first) const {
  const auto layer = static_cast<std::int32_t>(index);
  if (!config_.rotates(layer)) return;
  const std::int64_t size = config_.head_size;
  const float* cosines = rotations(row, config_.has_windowed_base(layer) ? 1 : 0) + first % size;
  kernels_.rotate_16(values, cosines, cosines + size + 16);
}

/// The same of all heads of a row, values [count].
void CpuStep::rotate_row(std::int64_t index, float* values, std::int64_t row,
                         std::int64_t count) const {
  for (std::int64_t first = 0; first < count; first += kGroupRows) {
    float group[kGroupRows] = {};
    const std::int64_t here = std::min(kGroupRows, count - first);
    std::copy_n(values + first, here, group);
    rotate(index, group, row, first);
    std::copy_n(group, here, values + first);
  }
}

std::int32_t CpuStep::slot_of(std::int64_t index, std::int64_t row) const {
  const LayerPlace place = c_.kv.layout().layers[static_cast<std::size_t>(index)];
  return c_.batch.slots_of(place.group)[static_cast<std::size_t>(row)];
}

void CpuStep::write_key(std::int64_t index, std::int64_t row, std::int64_t first,
                        std::int64_t count, const float* values) {
  std::uint16_t halves[kGroupRows];
  kernels_.to_f16_16(values, halves);
  const std::int32_t slot = slot_of(index, row);
  const std::int64_t block = slot / c_.kv.block_size();
  const std::int64_t token = slot % c_.kv.block_size();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t head = (first + i) / config_.head_size;
    const std::int64_t dim = (first + i) % config_.head_size;
    c_.kv.k_page(index, block, head)[c_.kv.k_offset(token, dim)] = halves[i];
  }
}

void CpuStep::write_value(std::int64_t index, std::int64_t row, std::int64_t first,
                          std::int64_t count, const float* values) {
  std::uint16_t halves[kGroupRows];
  kernels_.to_f16_16(values, halves);
  const std::int64_t size = config_.head_size;
  const std::int64_t padded = (size + 15) / 16 * 16;
  const std::int32_t slot = slot_of(index, row);
  const std::int64_t block = slot / c_.kv.block_size();
  const std::int64_t token = slot % c_.kv.block_size();
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t head = (first + i) / size;
    const std::int64_t dim = (first + i) % size;
    const std::int64_t run = std::min(count - i, size - dim);
    std::memcpy(c_.kv.v_page(index, block, head) + token * padded + dim, halves + i,
                static_cast<std::size_t>(run) * 2);
    i += run;
  }
}

/// Threads take items as they get free, the longest contexts of a sequence first.
void CpuStep::attend(std::int64_t index, const AttentionPlan& plan) {
  const auto count = static_cast<std::int64_t>(plan.items.size());
  c_.stages.take_in_order(count, [&](std::int64_t next) {
    attend_item(index, plan, plan.items[static_cast<std::size_t>(count - 1 - next)]);
  });
}

/// Sets which tokens of the piece that starts at `first` each query of the item sees.
void CpuStep::set_visible(const AttentionPlan& plan, const AttentionItem& item, std::int64_t window,
                          std::int64_t first) {
  const std::int64_t group = config_.heads / config_.kv_heads;
  for (std::int64_t i = 0; i < item.count * group; ++i) {
    const std::int64_t row = plan.rows[static_cast<std::size_t>(item.first + i / group)];
    const std::int64_t end = c_.batch.positions[static_cast<std::size_t>(row)] + 1;
    const std::int64_t begin = window == 0 ? 0 : end - window;
    own_.hidden[i] =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(begin - first, 0, kAttentionPiece));
    own_.visible[i] =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(end - first, 0, kAttentionPiece));
  }
}

void CpuStep::attend_item(std::int64_t index, const AttentionPlan& plan,
                          const AttentionItem& item) {
  const std::int64_t size = config_.head_size;
  const std::int64_t padded = (size + 15) / 16 * 16;
  const std::int64_t group = config_.heads / config_.kv_heads;
  const std::int64_t q_width = config_.heads * size;
  const std::int64_t queries = item.count * group;
  const std::int64_t window = config_.window(static_cast<std::int32_t>(index));
  const float scale = config_.attention_scale != 0 ? config_.attention_scale
                                                   : 1.0F / std::sqrt(static_cast<float>(size));
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t context = 0;
  for (std::int64_t i = 0; i < item.count; ++i) {
    const std::int64_t row = plan.rows[static_cast<std::size_t>(item.first + i)];
    const std::int32_t position = c_.batch.positions[static_cast<std::size_t>(row)];
    kernels_.scale_row(scratch_.q + row * q_width + item.kv_head * group * size,
                       scale * model::query_factor(config_, position), group * size,
                       own_.queries + i * group * size);
    const std::int64_t end = std::int64_t{position} + 1;
    begin = std::min(begin, window == 0 ? 0 : std::max<std::int64_t>(0, end - window));
    context = std::max(context, end);
  }
  ops::cpu::AttentionPiece piece{.queries = queries,
                                 .head_size = size,
                                 .cap = config_.attention_cap,
                                 .q = own_.queries,
                                 .hidden = own_.hidden,
                                 .visible = own_.visible,
                                 .scores = own_.scores,
                                 .max = own_.softmax,
                                 .sum = own_.softmax + queries,
                                 .scales = own_.softmax + 2 * queries,
                                 .out = own_.out};
  const std::int64_t first_piece = begin / kAttentionPiece * kAttentionPiece;
  for (std::int64_t first = first_piece; first < context; first += kAttentionPiece) {
    set_visible(plan, item, window, first);
    piece.first = first == first_piece;
    set_tiles(index, item, first, std::max<std::int64_t>(0, begin - first),
              std::min(kAttentionPiece, context - first), piece);
    kernels_.attend_piece(piece);
  }
  for (std::int64_t i = 0; i < queries; ++i) {
    const std::int64_t head = item.kv_head * group + i % group;
    kernels_.scale_row(own_.out + i * padded, 1.0F / piece.sum[i], size,
                       scratch_.attention.f32 + (item.first + i / group) * q_width + head * size);
  }
}

/// Points the piece at the keys and values from `first_token` on, of which [hidden, tokens) are
/// looked at: in place where blocks hold whole tiles, else gathered token by token. Rows before
/// those may have no block any more.
void CpuStep::set_tiles(std::int64_t index, const AttentionItem& item, std::int64_t first_token,
                        std::int64_t hidden, std::int64_t tokens, ops::cpu::AttentionPiece& piece) {
  const std::int64_t size = config_.head_size;
  const std::int64_t padded = (size + 15) / 16 * 16;
  const std::int64_t block_size = c_.kv.block_size();
  const LayerPlace place = c_.kv.layout().layers[static_cast<std::size_t>(index)];
  const BlockId* table =
      c_.batch.table(place.group, static_cast<std::size_t>(item.sequence)).data();
  piece.first_tile = hidden / kTileTokens;
  piece.tiles = (tokens + kTileTokens - 1) / kTileTokens;
  for (std::int64_t i = piece.first_tile; i < piece.tiles; ++i) {
    const std::int64_t first = first_token + i * kTileTokens;
    if (c_.kv.has_tiles()) {
      const BlockId block = table[first / block_size];
      const std::int64_t token = first % block_size;
      piece.k[i] = c_.kv.k_page(index, block, item.kv_head) + c_.kv.k_offset(token, 0);
      piece.v[i] = c_.kv.v_page(index, block, item.kv_head) + token * padded;
      continue;
    }
    std::uint16_t* k = own_.k_tiles + i * size * kTileTokens;
    std::uint16_t* v = own_.v_tiles + i * kTileTokens * padded;
    const std::int64_t begin = std::max<std::int64_t>(0, hidden - i * kTileTokens);
    for (std::int64_t t = begin; t < std::min(kTileTokens, tokens - i * kTileTokens); ++t) {
      const BlockId block = table[(first + t) / block_size];
      const std::int64_t token = (first + t) % block_size;
      const std::uint16_t* from = c_.kv.k_page(index, block, item.kv_head);
      for (std::int64_t d = 0; d < size; ++d)
        k[d * kTileTokens + t] = from[c_.kv.k_offset(token, d)];
      std::memcpy(v + t * padded, c_.kv.v_page(index, block, item.kv_head) + token * padded,
                  static_cast<std::size_t>(padded) * 2);
    }
    piece.k[i] = k;
    piece.v[i] = v;
  }
}

}  // namespace kantha::exec
