#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/cache/free_list.h"
#include "engine/cache/prefix_index.h"

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

/// Longest run of indexed blocks at the start of some tokens.
struct PrefixMatch {
  std::vector<BlockId> blocks;
  std::int32_t idle = 0;  ///< of these, how many nobody holds: taking them shrinks the free list
};

/// Counts holders of every block, keeps the idle ones in eviction order and knows what full blocks
/// contain.
///
/// A block is active (held), cached (idle, content indexed) or free (idle, nothing worth keeping).
/// Free blocks are reused first, then cached ones, least recently used first; content is kept until
/// that moment. Whoever holds an indexed block holds its parent too and lets go of the tail first,
/// so that an idle child always stands before its idle parent: shared heads live longest.
/// The engine thread owns the pool.
class BlockPool {
 public:
  /// CHECKs block_count ≥ 1 and 1 ≤ block_size ≤ 256 (tokens per block).
  BlockPool(std::int32_t block_count, std::int32_t block_size);
  ~BlockPool();  ///< CHECKs that nobody holds a block
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  std::int32_t block_size() const { return block_size_; }
  std::int32_t total() const { return static_cast<std::int32_t>(holders_.size()); }
  std::int32_t idle() const { return list_.size(); }  ///< can be taken: cached + free
  std::int32_t active() const { return total() - idle(); }
  std::int32_t cached() const { return cached_; }

  /// A block to write to, forgetting what it held; nothing when all are held.
  std::optional<BlockRef> take();
  /// A hold on an indexed block, idle or not. CHECKs that it is indexed.
  BlockRef adopt(BlockId indexed);
  /// One more hold on a held block.
  BlockRef share(const BlockRef& held);

  /// Held once and not indexed: nobody else can see a write.
  bool writable(const BlockRef& held) const;
  /// Held by somebody.
  bool held(BlockId block) const { return holders_[static_cast<std::size_t>(block)] > 0; }
  std::int32_t holders(BlockId block) const { return holders_[static_cast<std::size_t>(block)]; }

  /// Makes a full, held block findable. CHECKs as PrefixIndex::insert.
  void publish(const BlockRef& held, const PrefixKey& key) { prefixes_.insert(held.id(), key); }
  const PrefixIndex& prefixes() const { return prefixes_; }
  /// Which leading full blocks of `tokens` are indexed; takes nothing.
  PrefixMatch match(std::span<const TokenId> tokens, std::uint64_t salt) const;

  /// Held + idle = total, list and counts agree, children before parents. O(total); kInternal says
  /// what is broken.
  Status check_integrity() const;

 private:
  friend class BlockRef;
  void release(BlockId block);
  BlockRef hold(BlockId block);

  std::int32_t block_size_;
  std::vector<std::int32_t> holders_;
  FreeList list_;
  PrefixIndex prefixes_;
  std::int32_t cached_ = 0;
};

}  // namespace kantha::cache
