#include "engine/exec/check_batch.h"

#include <algorithm>

#include "base/check.h"

namespace kantha::exec {
namespace {

void check_row(const Batch& batch, const BatchLimits& limits, std::size_t row,
               std::span<const BlockId> table) {
  const std::int32_t block_size = limits.kv.block_size;
  const TokenId token = batch.token_ids[row];
  const std::int32_t position = batch.positions[row];
  CHECK(token >= 0 && token < limits.vocabulary, "token id within the vocabulary");
  CHECK(position >= 0 && position / block_size < std::ssize(table),
        "the table covers the position");
  const std::int64_t slot =
      std::int64_t{table[static_cast<std::size_t>(position / block_size)]} * block_size +
      position % block_size;
  CHECK(batch.slots[row] == slot, "slot is the position's place in the block table");
}

void check_sequence(const Batch& batch, const BatchLimits& limits, std::size_t sequence) {
  const std::int32_t begin = batch.row_starts[sequence];
  const std::int32_t end = batch.row_starts[sequence + 1];
  CHECK(begin < end, "a sequence has rows");
  const auto stride = static_cast<std::size_t>(batch.block_table_stride);
  const auto table = batch.block_tables.subspan(sequence * stride, stride);
  std::int32_t last = 0;
  for (std::int32_t row = begin; row < end; ++row) {
    check_row(batch, limits, static_cast<std::size_t>(row), table);
    last = std::max(last, batch.positions[static_cast<std::size_t>(row)]);
  }
  for (std::int32_t p = 0; p <= last / limits.kv.block_size; ++p) {
    const BlockId block = table[static_cast<std::size_t>(p)];
    CHECK(block >= 0 && block < limits.kv.block_count, "block id within the pool");
  }
}

}  // namespace

void check_batch(const Batch& batch, const BatchLimits& limits, std::size_t logit_count) {
  const std::size_t rows = batch.token_ids.size();
  CHECK(std::ssize(batch.token_ids) <= limits.rows_max, "T <= rows_max");
  CHECK(batch.positions.size() == rows && batch.slots.size() == rows, "positions and slots [T]");
  CHECK(!batch.row_starts.empty() && batch.row_starts.front() == 0, "row_starts [B + 1] from 0");
  CHECK(batch.row_starts.back() == std::ssize(batch.token_ids), "row_starts end at T");
  const std::size_t sequences = batch.row_starts.size() - 1;
  CHECK(batch.block_table_stride >= 0, "P >= 0");
  CHECK(batch.block_tables.size() == sequences * static_cast<std::size_t>(batch.block_table_stride),
        "block_tables [B, P]");
  for (std::size_t b = 0; b < sequences; ++b) {
    CHECK(batch.row_starts[b + 1] <= batch.row_starts.back(), "row_starts rise");
    check_sequence(batch, limits, b);
  }
  CHECK(std::ssize(batch.logit_rows) <= limits.logit_rows_max, "S <= logit_rows_max");
  CHECK(logit_count == batch.logit_rows.size() * static_cast<std::size_t>(limits.vocabulary),
        "logits [S, vocabulary]");
  std::int32_t before = -1;
  for (const std::int32_t row : batch.logit_rows) {
    CHECK(row > before && row < std::ssize(batch.token_ids), "logit_rows rise within T");
    before = row;
  }
}

}  // namespace kantha::exec
