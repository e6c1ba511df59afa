#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "engine/exec/forward.h"

namespace kantha::golden {

/// What a Forward computes of one sequence that has it to itself: logits [rows, vocabulary] of the
/// rows from `first_row` on, `chunk` tokens a step. Each of its groups has blocks of its own.
inline std::vector<float> lone_logits(exec::Forward& forward, const std::vector<TokenId>& ids,
                                      std::int32_t block_size, std::size_t chunk,
                                      std::size_t first_row = 0) {
  const auto vocabulary = static_cast<std::size_t>(forward.vocabulary_size());
  const std::size_t groups = forward.groups().size();
  const auto blocks = static_cast<std::int32_t>(ids.size()) / block_size + 1;
  std::vector<BlockId> tables(groups * static_cast<std::size_t>(blocks));
  std::iota(tables.begin(), tables.end(), 0);
  std::vector<float> all;
  for (std::size_t first = 0; first < ids.size(); first += chunk) {
    const std::size_t count = std::min(chunk, ids.size() - first);
    std::vector<std::int32_t> positions(count), slots, rows;
    std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(first));
    for (std::size_t group = 0; group < groups; ++group) {
      const auto start = static_cast<std::int32_t>(group) * blocks * block_size;
      for (const std::int32_t position : positions) slots.push_back(start + position);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (first + i >= first_row) rows.push_back(static_cast<std::int32_t>(i));
    }
    const std::int32_t row_starts[] = {0, static_cast<std::int32_t>(count)};
    std::vector<float> logits(rows.size() * vocabulary);
    forward.run({.token_ids = std::span(ids).subspan(first, count),
                 .positions = positions,
                 .slots = slots,
                 .row_starts = row_starts,
                 .block_tables = tables,
                 .block_table_stride = blocks,
                 .logit_rows = rows,
                 .group_count = static_cast<std::int32_t>(groups)},
                logits);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

}  // namespace kantha::golden
