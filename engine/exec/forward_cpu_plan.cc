#include "engine/exec/forward_cpu_plan.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

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

void check_batch(const Batch& batch, const KvShape& kv, std::int32_t vocabulary,
                 std::int32_t rows_max, std::int32_t logit_rows_max) {
  const std::size_t rows = batch.token_ids.size();
  CHECK(rows <= static_cast<std::size_t>(rows_max), "rows_max");
  CHECK(batch.positions.size() == rows && batch.slots.size() == rows, "positions, slots [T]");
  CHECK(!batch.row_starts.empty() && batch.row_starts.front() == 0, "row_starts [B + 1]");
  CHECK(batch.row_starts.back() == static_cast<std::int32_t>(rows), "row_starts end at T");
  CHECK(std::is_sorted(batch.row_starts.begin(), batch.row_starts.end()), "row_starts rise");
  const std::size_t sequences = batch.row_starts.size() - 1;
  const auto stride = static_cast<std::size_t>(batch.block_table_stride);
  CHECK(batch.block_table_stride >= 0 && batch.block_tables.size() >= sequences * stride,
        "block_tables [B, P]");
  for (std::size_t row = 0; row < rows; ++row) {
    CHECK(batch.token_ids[row] >= 0 && batch.token_ids[row] < vocabulary, "token id");
    CHECK(batch.slots[row] >= 0 && batch.slots[row] / kv.block_size < kv.block_count, "slot");
  }
  for (std::size_t b = 0; b < sequences; ++b) {
    std::int32_t last = -1;
    for (std::int32_t row = batch.row_starts[b]; row < batch.row_starts[b + 1]; ++row) {
      const std::int32_t position = batch.positions[static_cast<std::size_t>(row)];
      CHECK(position >= 0, "position");
      last = std::max(last, position);
    }
    const auto blocks = static_cast<std::size_t>((last + kv.block_size) / kv.block_size);
    CHECK(last < 0 || blocks <= stride, "block table covers the positions");
    for (std::size_t i = 0; last >= 0 && i < blocks; ++i) {
      const BlockId block = batch.block_tables[b * stride + i];
      CHECK(block >= 0 && block < kv.block_count, "block id");
    }
  }
  CHECK(batch.logit_rows.size() <= static_cast<std::size_t>(logit_rows_max), "logit_rows_max");
  for (std::size_t i = 0; i < batch.logit_rows.size(); ++i) {
    CHECK(batch.logit_rows[i] > (i == 0 ? -1 : batch.logit_rows[i - 1]), "logit_rows rise");
    CHECK(batch.logit_rows[i] < static_cast<std::int32_t>(rows), "logit row");
  }
}

}  // namespace kantha::exec
