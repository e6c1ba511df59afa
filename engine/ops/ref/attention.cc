#include "engine/ops/ref/attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.h"
#include "engine/ops/ref/dot.h"
#include "engine/ops/ref/soft_cap.h"
#include "engine/ops/ref/softmax.h"

namespace kantha::ops::ref {
namespace {

/// Where kv head `head` of a position starts in keys and values.
std::size_t place(const PagedKv& kv, std::span<const BlockId> block_table, std::int32_t position,
                  std::size_t head) {
  const auto block_size = static_cast<std::size_t>(kv.block_size);
  const auto at = static_cast<std::size_t>(position);
  const auto block = static_cast<std::size_t>(block_table[at / block_size]);
  const std::size_t slot = block * block_size + at % block_size;
  return (slot * static_cast<std::size_t>(kv.kv_heads) + head) *
         static_cast<std::size_t>(kv.head_size);
}

}  // namespace

void attention_row(std::span<const float> q, const PagedKv& kv,
                   std::span<const BlockId> block_table, std::int32_t first, std::int32_t position,
                   std::span<float> scores, std::span<float> out, const ScoreRule& rule) {
  const auto size = static_cast<std::size_t>(kv.head_size);
  const std::size_t heads = q.size() / size;
  const std::size_t group = heads / static_cast<std::size_t>(kv.kv_heads);
  CHECK(q.size() == heads * size && out.size() == q.size(), "q and out [heads, head_size]");
  CHECK(heads % static_cast<std::size_t>(kv.kv_heads) == 0, "kv_heads divides heads");
  CHECK(first >= 0 && first <= position, "a row sees itself");
  CHECK(position - first < std::ssize(scores), "scores [position + 1 - first]");
  CHECK(position / kv.block_size < std::ssize(block_table), "the table covers the position");

  const auto count = static_cast<std::size_t>(position - first) + 1;
  const float scale =
      rule.scale != 0 ? rule.scale : 1.0F / std::sqrt(static_cast<float>(kv.head_size));
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::int32_t p = first; p <= position; ++p) {
      const float* key = &kv.keys[place(kv, block_table, p, h / group)];
      scores[static_cast<std::size_t>(p - first)] = dot(&q[h * size], key, size) * scale;
    }
    if (rule.cap != 0) soft_cap(scores.first(count), rule.cap);
    softmax(scores.first(count));
    float* sum = &out[h * size];
    std::fill_n(sum, size, 0.0F);
    for (std::int32_t p = first; p <= position; ++p) {
      const float* value = &kv.values[place(kv, block_table, p, h / group)];
      const float weight = scores[static_cast<std::size_t>(p - first)];
      for (std::size_t i = 0; i < size; ++i) sum[i] += weight * value[i];
    }
  }
}

}  // namespace kantha::ops::ref
