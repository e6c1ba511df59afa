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
/// A row is one block of each group for the same block_size tokens. Move-only; the engine thread
/// owns it; the cache outlives it.
///
/// Copies. The device executes the copies of a step in the order given, then the step's writes. A
/// copy's source may be idle, and may even be handed out and made the target of a later copy, or be
/// written to, in the same step. The copy still reads what was meant, because everything that
/// overwrites the source comes after it: a later copy stands behind it in the list, and writes come
/// after all copies. Nothing earlier in the step can spoil it: what a sequence wrote to before is
/// its own, unknown block until publish, which comes after the device, and a shared block's shared
/// tokens lie before those that its other holder writes. The target is in nobody's hands but the
/// copier's; if that gives it back in the same step, the next copy to it stands behind as well.
class SequenceBlocks {
 public:
  explicit SequenceBlocks(KvCache& cache);
  SequenceBlocks(SequenceBlocks&& other) noexcept;
  SequenceBlocks& operator=(SequenceBlocks&&) = delete;
  ~SequenceBlocks() { clear(); }

  /// Rows that exist, those outside a window included.
  std::int32_t rows() const { return tables_.front().size(); }
  /// Blocks that are held, over all groups.
  std::int32_t held() const;
  /// Group `group`'s block of row `row`; kNoBlock once it has left the group's window.
  BlockId block(std::int32_t group, std::int32_t row) const { return table(group).block(row); }
  /// Where token `position` lies in group `group`: block id * block_size + offset. CHECKs that the
  /// position has a block.
  std::int32_t slot(std::int32_t group, std::int32_t position) const;

  /// Idle blocks that writing tokens [first, end) takes: growth and copies, over all groups.
  std::int32_t blocks_to_write(std::int32_t first, std::int32_t end) const;
  /// Makes tokens [first, end) writable. All or nothing: false, with nothing changed, when fewer
  /// than blocks_to_write blocks are idle.
  bool prepare_write(std::int32_t first, std::int32_t end, std::vector<BlockCopy>& copies);

  /// Takes what KvCache::find found, in the same turn; CHECKs that the blocks are there.
  void adopt(const PrefixHit& hit, std::vector<BlockCopy>& copies);
  /// Whether share(*this, tokens) finds what it needs: `tokens` tokens are computed, and every row
  /// that token `tokens` attends to is still held. That holds where nothing has a window, and in
  /// any case as long as no more than `tokens` + 1 are computed.
  bool can_share(std::int32_t tokens) const;
  /// Holds the blocks of `other`'s first `tokens` tokens too (n > 1): neither writes to them any
  /// more without a copy. CHECKs can_share.
  void share(const SequenceBlocks& other, std::int32_t tokens);

  /// `computed` (the sequence's tokens so far, all computed) can be found by others from now on,
  /// and blocks that left a window are given back. Called after each step with a longer head, with
  /// or without prefix caching: KvCache::usage counts by it. Where a row is known already, the
  /// sequence takes its blocks and lets its own go: the Forward promises equal bits for equal
  /// tokens.
  void publish(std::span<const TokenId> computed, std::uint64_t salt);

  /// Gives everything back, tail first. What was published stays findable until it is overwritten.
  void clear();
  /// As clear, and the row that is not full can be found too, by its head. For sequences whose
  /// computed tokens are to be trusted, with what was published last.
  void clear(std::span<const TokenId> computed, std::uint64_t salt);

 private:
  const BlockTable& table(std::int32_t group) const {
    return tables_[static_cast<std::size_t>(group)];
  }
  std::int32_t rows_of(std::int32_t tokens) const;
  std::int32_t blocks_for_rows(std::int32_t first_row, std::int32_t end_row) const;
  void leave_windows(std::int32_t tokens);
  void count_filled(std::int32_t tokens);
  void publish_row(std::span<const TokenId> row, std::uint64_t salt);
  void publish_tail(std::span<const TokenId> tail, std::uint64_t salt);
  void move_pin(NodeId node);

  KvCache* cache_;
  std::vector<BlockTable> tables_;  ///< [groups]
  std::int32_t filled_ = 0;         ///< tokens with keys and values
  std::int32_t published_rows_ = 0;
  NodeId node_ = kNoNode;     ///< of the last published row, pinned
  bool unpublished_ = false;  ///< there was no room to publish a row: those after it have no parent
};

}  // namespace kantha::cache
