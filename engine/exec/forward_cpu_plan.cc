#include "engine/exec/forward_cpu_plan.h"

#include <numeric>

namespace kantha::exec {

void AttentionPlan::reserve(std::int32_t rows_max, std::int32_t kv_heads) {
  rows.reserve(static_cast<std::size_t>(rows_max));
  items.reserve(static_cast<std::size_t>(rows_max) * static_cast<std::size_t>(kv_heads));
}

void AttentionPlan::set_all(const Batch& batch, std::int32_t rows_per_item, std::int32_t kv_heads) {
  rows.resize(batch.token_ids.size());
  std::iota(rows.begin(), rows.end(), 0);
  cut(batch, rows_per_item, kv_heads);
}

void AttentionPlan::set_logit_rows(const Batch& batch, std::int32_t rows_per_item,
                                   std::int32_t kv_heads) {
  rows.assign(batch.logit_rows.begin(), batch.logit_rows.end());
  cut(batch, rows_per_item, kv_heads);
}

void AttentionPlan::cut(const Batch& batch, std::int32_t rows_per_item, std::int32_t kv_heads) {
  items.clear();
  const auto count = static_cast<std::int32_t>(rows.size());
  std::int32_t sequence = 0;
  for (std::int32_t first = 0; first < count;) {
    const auto row = [&](std::int32_t index) { return rows[static_cast<std::size_t>(index)]; };
    while (row(first) >= batch.row_starts[static_cast<std::size_t>(sequence) + 1]) ++sequence;
    const std::int32_t end = batch.row_starts[static_cast<std::size_t>(sequence) + 1];
    std::int32_t last = first + 1;
    while (last < count && last - first < rows_per_item && row(last) < end) ++last;
    for (std::int32_t head = 0; head < kv_heads; ++head) {
      items.push_back({sequence, first, last - first, head});
    }
    first = last;
  }
}

}  // namespace kantha::exec
