#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "engine/cache/block_pool.h"

/// The blocks of one sequence.
namespace kantha::cache {

/// Content that the device must copy before the step's forward pass, in the order given.
struct BlockCopy {
  BlockId from = kNoBlock;
  BlockId to = kNoBlock;
};

/// Blocks in position order: token p lies in block p / block_size at offset p % block_size. Sharing
/// is copy-on-write. Move-only; gives its blocks back tail first. The engine thread owns it.
class BlockTable {
 public:
  explicit BlockTable(BlockPool& pool) : pool_(&pool) {}
  BlockTable(BlockTable&&) noexcept = default;
  BlockTable& operator=(BlockTable&& other) noexcept;
  ~BlockTable() { clear(); }

  std::int32_t size() const { return static_cast<std::int32_t>(blocks_.size()); }
  BlockId block(std::int32_t index) const { return blocks_[static_cast<std::size_t>(index)].id(); }
  /// Where token `position` lies: block id * block_size + offset.
  std::int32_t slot(std::int32_t position) const;

  /// Blocks that must be taken so that tokens [first, end) can be written: growth and copies.
  std::int32_t blocks_to_write(std::int32_t first, std::int32_t end) const;
  /// Makes tokens [first, end) writable: grows, and replaces blocks that others see by fresh ones,
  /// adding the copies to `copies`. All or nothing: false, with nothing changed, when the pool has
  /// fewer than blocks_to_write idle blocks.
  bool prepare_write(std::int32_t first, std::int32_t end, std::vector<BlockCopy>& copies);

  /// Appends an indexed block that holds the next block_size tokens.
  void adopt(BlockId indexed) { blocks_.push_back(pool_->adopt(indexed)); }
  /// A second table over the same blocks.
  BlockTable fork() const { return fork_head(size()); }
  /// A second table over the first `count` blocks.
  BlockTable fork_head(std::int32_t count) const;
  /// Indexes the full blocks [first_block, tokens.size() / block_size) under `tokens`, which the
  /// device has computed. Where an equal block is indexed already, this table takes that one and
  /// lets its own go: the Forward promises equal bits for equal tokens.
  void publish(std::span<const TokenId> tokens, std::int32_t first_block, std::uint64_t salt);

  /// Gives everything back, tail first.
  void clear();

 private:
  BlockPool* pool_;
  std::vector<BlockRef> blocks_;
};

}  // namespace kantha::cache
