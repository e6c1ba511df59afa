#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "engine/cache/block_table.h"
#include "engine/cache/kv_cache.h"

/// The blocks of one sequence in every group.
namespace kantha::cache {

/// What a sequence does with the cache, in this order:
///   adopt or share (once, while empty) → (prepare_write → the device computes → publish)… → clear.
/// A row is one block of each group for the same block_size tokens. The device executes the copies
/// of a step in the order given, before it writes anything. Move-only; the engine thread owns it;
/// the cache outlives it.
class SequenceBlocks {
 public:
  explicit SequenceBlocks(KvCache& cache) : cache_(&cache), table_(cache.pool()) {}

  /// Rows that exist, those outside a window included.
  std::int32_t rows() const { return table_.size(); }
  /// Blocks that are held, over all groups.
  std::int32_t held() const { return table_.size(); }
  /// Group `group`'s block of row `row`; kNoBlock once it has left the group's window.
  BlockId block(std::int32_t group, std::int32_t row) const;
  /// Where token `position` lies in group `group`: block id * block_size + offset.
  std::int32_t slot(std::int32_t group, std::int32_t position) const;

  /// Idle blocks that writing tokens [first, end) takes: growth and copies, over all groups.
  std::int32_t blocks_to_write(std::int32_t first, std::int32_t end) const {
    return table_.blocks_to_write(first, end);
  }
  /// Makes tokens [first, end) writable. All or nothing: false, with nothing changed, when fewer
  /// than blocks_to_write blocks are idle.
  bool prepare_write(std::int32_t first, std::int32_t end, std::vector<BlockCopy>& copies) {
    return table_.prepare_write(first, end, copies);
  }

  /// Takes what KvCache::find found, in the same turn; CHECKs that the blocks are there.
  void adopt(const PrefixHit& hit, std::vector<BlockCopy>& copies);
  /// Holds the blocks of `other`'s first `tokens` tokens too (n > 1): neither writes to them any
  /// more without a copy.
  void share(const SequenceBlocks& other, std::int32_t tokens);

  /// `tokens` (the sequence's, all computed) can be found by others from now on, and blocks that
  /// left every window are given back. Called after each step with a longer head.
  void publish(std::span<const TokenId> computed, std::uint64_t salt);

  /// Gives everything back, tail first. What was published stays findable until it is overwritten.
  void clear();

 private:
  KvCache* cache_;
  BlockTable table_;
  std::int32_t published_rows_ = 0;
};

}  // namespace kantha::cache
