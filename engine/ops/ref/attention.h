#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"

/// Attention of one query row over keys and values that lie in blocks.
namespace kantha::ops::ref {

/// One layer's paged storage, borrowed: keys and values [blocks, block_size, kv_heads, head_size]
/// f32.
struct PagedKv {
  std::span<const float> keys;
  std::span<const float> values;
  std::int32_t block_size = 0;
  std::int32_t kv_heads = 0;
  std::int32_t head_size = 0;
};

/// What becomes of a dot product before the softmax.
struct ScoreRule {
  float scale = 0;  ///< factor; 0 = 1 / sqrt(head_size)
  float cap = 0;    ///< c: c · tanh(score / c); 0 = none
};

/// out [heads, head_size] = softmax(rule(q · Kᵀ)) · V over positions first … position
/// of the sequence whose position p lies in block block_table[p / block_size]. Others are not read,
/// nor their entries of the table. Grouped queries: query head h reads kv head h / (heads /
/// kv_heads). Sums run in position order, so the bits do not depend on block size or placement.
/// `scores` [≥ position + 1 - first] is scratch. Any thread.
void attention_row(std::span<const float> q, const PagedKv& kv,
                   std::span<const BlockId> block_table, std::int32_t first, std::int32_t position,
                   std::span<float> scores, std::span<float> out, const ScoreRule& rule = {});

}  // namespace kantha::ops::ref
