#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/exec/forward.h"

namespace kantha::exec {

/// Some rows of one sequence that attend together, for one KV head.
struct AttentionItem {
  std::int32_t sequence = 0;
  std::int32_t first = 0;  ///< index into the plan's rows
  std::int32_t count = 0;
  std::int32_t kv_head = 0;
};

/// Which rows of a batch attend, cut into items. Kept between steps so that nothing is allocated.
struct AttentionPlan {
  std::vector<std::int32_t> rows;    ///< batch rows, rising
  std::vector<AttentionItem> items;  ///< by sequence and row: the last of a sequence is the longest

  void reserve(std::int32_t rows_max, std::int32_t kv_heads);
  /// All rows of the batch, `rows_per_item` of a sequence at a time.
  void set_all(const Batch& batch, std::int32_t rows_per_item, std::int32_t kv_heads);
  /// Only the batch's logit rows: what the last layer needs.
  void set_logit_rows(const Batch& batch, std::int32_t rows_per_item, std::int32_t kv_heads);

 private:
  void cut(const Batch& batch, std::int32_t rows_per_item, std::int32_t kv_heads);
};

}  // namespace kantha::exec
