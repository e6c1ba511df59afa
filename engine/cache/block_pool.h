#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/cache/free_list.h"
#include "engine/cache/prefix_tree.h"

/// The KV blocks of one engine, taken once at start.
namespace kantha::cache {

class BlockPool;

/// One counted hold on a block. The only way to reach a block for writing: a block cannot be freed
/// under a holder, and an empty or moved-from handle CHECKs on use. Move-only; must not outlive the
/// pool. One thread.
class BlockRef {
 public:
  BlockRef() = default;
  BlockRef(BlockRef&& other) noexcept;
  BlockRef& operator=(BlockRef&& other) noexcept;
  ~BlockRef() { reset(); }

  explicit operator bool() const { return pool_ != nullptr; }
  BlockId id() const {
    CHECK(pool_ != nullptr, "use of a released block");
    return id_;
  }
  /// Lets go; the last holder gives the block back.
  void reset();

 private:
  friend class BlockPool;
  BlockRef(BlockPool& pool, BlockId id) : pool_(&pool), id_(id) {}

  BlockPool* pool_ = nullptr;
  BlockId id_ = kNoBlock;
};

/// Counts holders of every block, keeps the idle ones in eviction order, knows how many tokens each
/// has and, through its PrefixTree, which.
///
/// A block is active (held), cached (idle, known to the tree) or free (idle, nothing worth
/// keeping). Free blocks are reused first, then cached ones, least recently used first; content is
/// kept until that moment. In a group without a window, whoever holds a row's block holds those of
/// all rows before it and lets go of the tail first, so that an idle child always stands before its
/// idle parent: shared heads live longest. The engine thread owns the pool.
class BlockPool {
 public:
  /// CHECKs block_count ≥ 1, 1 ≤ block_size ≤ 256 and 1 to kGroupsMax groups.
  explicit BlockPool(const KvCacheOptions& options);
  ~BlockPool();  ///< CHECKs that nobody holds a block
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  std::int32_t block_size() const { return block_size_; }
  std::int32_t total() const { return static_cast<std::int32_t>(holders_.size()); }
  std::int32_t idle() const { return free_.size() + cached_.size(); }  ///< can be taken
  std::int32_t active() const { return total() - idle(); }
  std::int32_t cached() const { return cached_.size(); }

  /// A block to write to, forgetting what it held; nothing when all are held.
  std::optional<BlockRef> take();
  /// A hold on a known block, idle or not. CHECKs that the tree knows it.
  BlockRef adopt(BlockId known);
  /// One more hold on a held block.
  BlockRef share(const BlockRef& held);
  /// If idle: evict it last. For what is about to be copied from or was just asked for; in a group
  /// without a window the caller holds the rows before it.
  void touch(BlockId known);

  /// Held once and not known to the tree: nobody else can see a write.
  bool writable(const BlockRef& held) const;
  /// Held by somebody.
  bool held(BlockId block) const { return holders(block) > 0; }
  std::int32_t holders(BlockId block) const { return holders_[static_cast<std::size_t>(block)]; }

  /// Tokens with keys and values in the block; 0 in a free one.
  std::int32_t fill(BlockId block) const { return fills_[static_cast<std::size_t>(block)]; }
  /// Says that the block has at least `tokens` tokens now.
  void filled(const BlockRef& held, std::int32_t tokens);
  /// Says that just `tokens` of a writable block's tokens count: the others are written again.
  void keep(const BlockRef& held, std::int32_t tokens);
  /// Sum of fill over active blocks, each once. O(1).
  std::int64_t tokens_used() const { return tokens_used_; }

  const PrefixTree& tree() const { return tree_; }
  /// The node of a whole row: found or new, kNoNode when there is no room for one. A new one is
  /// without blocks until the caller attaches some.
  NodeId node_for(const PrefixKey& key);
  /// Makes a held block findable as `node`'s in `group`.
  void attach(NodeId node, std::int32_t group, const BlockRef& held);
  /// Makes the tail of a sequence findable as a leaf, held blocks by group. A longer row with the
  /// same head that is known makes it needless.
  void attach_leaf(const PrefixKey& key, std::span<const BlockRef* const> held);
  void pin(NodeId node) { tree_.pin(node); }
  void unpin(NodeId node) { tree_.unpin(node); }

  /// Held + idle = total, lists, fills and the tree agree, children before parents. O(total);
  /// kInternal says what is broken.
  Status check_integrity() const;

 private:
  friend class BlockRef;
  void release(BlockId block);
  BlockRef hold(BlockId block);
  void set_fill(BlockId block, std::int32_t tokens);
  bool make_node();
  void forget_shorter(const PrefixKey& key);
  void let_loose();
  Status check_order() const;

  std::int32_t block_size_;
  std::int32_t groups_;
  std::vector<std::int32_t> holders_;
  std::vector<std::int32_t> fills_;
  FreeList free_;
  FreeList cached_;  ///< least recently used first
  PrefixTree tree_;
  std::int64_t tokens_used_ = 0;
  std::vector<BlockId> loose_;  ///< scratch: blocks that the tree forgot
};

}  // namespace kantha::cache
