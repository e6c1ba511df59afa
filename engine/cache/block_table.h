#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "engine/cache/block_pool.h"

/// The blocks of one sequence in one group.
namespace kantha::cache {

/// Content that the device must copy before the step's forward pass, in the order given.
struct BlockCopy {
  BlockId from = kNoBlock;
  BlockId to = kNoBlock;
};

/// Rows [first_held, size) have a block each; those before have left the group's window. Sharing is
/// copy-on-write. Move-only; gives its blocks back tail first. The engine thread owns it.
class BlockTable {
 public:
  explicit BlockTable(BlockPool& pool) : pool_(&pool) {}
  BlockTable(BlockTable&&) noexcept = default;
  BlockTable& operator=(BlockTable&& other) noexcept;
  ~BlockTable() { clear(); }

  std::int32_t size() const { return static_cast<std::int32_t>(rows_.size()); }
  std::int32_t first_held() const { return first_held_; }
  std::int32_t held() const { return size() - first_held_; }
  /// kNoBlock before first_held.
  BlockId block(std::int32_t row) const { return row < first_held_ ? kNoBlock : ref(row).id(); }
  /// CHECKs that it is held.
  const BlockRef& ref(std::int32_t row) const { return rows_[static_cast<std::size_t>(row)]; }

  /// Blocks that must be taken so that rows [first_row, end_row) can be written.
  std::int32_t blocks_to_write(std::int32_t first_row, std::int32_t end_row) const;
  /// Replaces a block that others see by a fresh one with the same content. Of the block's tokens
  /// the first `tokens` count from then on. CHECKs that a block is idle if one is needed.
  void make_writable(std::int32_t row, std::int32_t tokens, std::vector<BlockCopy>& copies);
  /// One more row with a fresh block. CHECKs that one is idle.
  void grow() { rows_.push_back(*pool_->take()); }

  /// `rows` rows, to be filled by `put` from first_held on. CHECKs that the table is empty.
  void start(std::int32_t first_held, std::int32_t rows);
  void put(std::int32_t row, BlockRef held) {
    rows_[static_cast<std::size_t>(row)] = std::move(held);
  }
  void add(BlockRef held) { rows_.push_back(std::move(held)); }
  /// Holds other's rows [first_held, rows) too. CHECKs that this one is empty and other has them.
  void share(const BlockTable& other, std::int32_t first_held, std::int32_t rows);

  /// Gives back what lies before `row`.
  void drop_before(std::int32_t row);
  /// Gives the last row back.
  void pop();
  void clear();

 private:
  BlockPool* pool_;
  std::vector<BlockRef> rows_;
  std::int32_t first_held_ = 0;
};

}  // namespace kantha::cache
