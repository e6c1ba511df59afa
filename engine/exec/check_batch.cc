#include "engine/exec/check_batch.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace kantha::exec {
namespace {

void check_row(const Batch& batch, const BatchLimits& limits, std::size_t row) {
  const TokenId token = batch.token_ids[row];
  const std::int32_t position = batch.positions[row];
  CHECK(token >= 0 && token < limits.vocabulary, "token id within the vocabulary");
  CHECK(position >= 0 && position / limits.kv.block_size < batch.block_table_stride,
        "the table covers the position");
}

/// Positions of a sequence's rows, which need not rise.
struct Reach {
  std::int32_t first = std::numeric_limits<std::int32_t>::max();
  std::int32_t last = 0;
};

void check_group(const Batch& batch, const BatchLimits& limits, std::size_t sequence,
                 std::int32_t group, Reach reach) {
  const std::int32_t block_size = limits.kv.block_size;
  const auto table = batch.table(group, sequence);
  const auto slots = batch.slots_of(group);
  for (std::int32_t r = batch.row_starts[sequence]; r < batch.row_starts[sequence + 1]; ++r) {
    const auto row = static_cast<std::size_t>(r);
    const std::int32_t position = batch.positions[row];
    const std::int64_t block = table[static_cast<std::size_t>(position / block_size)];
    CHECK(slots[row] == block * block_size + position % block_size,
          "slot is the position's place in the block table");
  }
  const cache::KvGroup seen = limits.groups[static_cast<std::size_t>(group)];
  const std::int32_t first = cache::first_row_seen(seen, reach.first, block_size);
  for (std::int32_t p = first; p <= reach.last / block_size; ++p) {
    const BlockId block = table[static_cast<std::size_t>(p)];
    CHECK(block >= 0 && block < limits.kv.block_count, "block id within the pool");
  }
}

void check_sequence(const Batch& batch, const BatchLimits& limits, std::size_t sequence) {
  const std::int32_t begin = batch.row_starts[sequence];
  const std::int32_t end = batch.row_starts[sequence + 1];
  CHECK(begin < end, "a sequence has rows");
  Reach reach;
  for (std::int32_t row = begin; row < end; ++row) {
    check_row(batch, limits, static_cast<std::size_t>(row));
    const std::int32_t position = batch.positions[static_cast<std::size_t>(row)];
    reach = {.first = std::min(reach.first, position), .last = std::max(reach.last, position)};
  }
  for (std::int32_t group = 0; group < batch.group_count; ++group) {
    check_group(batch, limits, sequence, group, reach);
  }
}

}  // namespace

void check_batch(const Batch& batch, const BatchLimits& limits, std::size_t logit_count) {
  const std::size_t rows = batch.token_ids.size();
  const std::size_t groups = limits.groups.size();
  CHECK(std::ssize(batch.token_ids) <= limits.rows_max, "T <= rows_max");
  CHECK(batch.group_count == std::ssize(limits.groups), "the groups are the model's");
  CHECK(batch.positions.size() == rows && batch.slots.size() == groups * rows,
        "positions [T] and slots [groups, T]");
  CHECK(!batch.row_starts.empty() && batch.row_starts.front() == 0, "row_starts [B + 1] from 0");
  CHECK(batch.row_starts.back() == std::ssize(batch.token_ids), "row_starts end at T");
  const std::size_t sequences = batch.row_starts.size() - 1;
  CHECK(batch.block_table_stride >= 0, "P >= 0");
  CHECK(batch.block_tables.size() ==
            groups * sequences * static_cast<std::size_t>(batch.block_table_stride),
        "block_tables [groups, B, P]");
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
