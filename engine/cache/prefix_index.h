#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/cache/free_list.h"

/// Which block holds the keys and values of which tokens.
namespace kantha::cache {

/// What a full block holds: its own tokens and everything before them.
struct PrefixKey {
  BlockId parent = kNoBlock;  ///< indexed block with the tokens before; kNoBlock at position 0
  std::uint64_t salt = 0;     ///< keeps tenants apart; looked at where parent is kNoBlock
  std::span<const TokenId> tokens = {};  ///< [block_size]
};

/// Finds full blocks by content. The hash is chained from the parent's, so that it stands for the
/// whole prefix; a hit is confirmed by comparing the parent's id and every token, so that a hash
/// collision can never hand out another prompt's keys and values.
///
/// Comparing the parent by id is sound because a parent stays indexed as long as a child is: erase
/// CHECKs it, and the pool's free list order brings it about (block_pool.h). Buckets are chained
/// through flat arrays; no allocation after construction. One thread.
class PrefixIndex {
 public:
  PrefixIndex(std::int32_t block_count, std::int32_t block_size);

  /// The block with this content, if there is one. About 4 ns per token.
  std::optional<BlockId> find(const PrefixKey& key) const;
  /// Remembers what `block` holds. CHECKs that neither the block nor the content is there yet.
  void insert(BlockId block, const PrefixKey& key);
  /// Forgets `block`. CHECKs that no child is indexed.
  void erase(BlockId block);

  bool contains(BlockId block) const { return entry(block).present; }
  BlockId parent(BlockId block) const { return entry(block).parent; }
  std::int32_t size() const { return size_; }

  /// Walks everything: every entry reachable once through its bucket, parents present, child counts
  /// right. kInternal says what is broken.
  Status check_integrity() const;

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint64_t salt = 0;
    BlockId parent = kNoBlock;
    BlockId next = kNoBlock;  ///< in the same bucket
    std::int32_t children = 0;
    bool present = false;
  };

  const Entry& entry(BlockId block) const { return entries_[static_cast<std::size_t>(block)]; }
  Entry& entry(BlockId block) { return entries_[static_cast<std::size_t>(block)]; }
  std::size_t bucket_of(std::uint64_t hash) const { return hash & (buckets_.size() - 1); }
  std::uint64_t hash_of(const PrefixKey& key) const;
  bool holds(BlockId block, const PrefixKey& key) const;

  std::size_t block_size_;
  std::vector<Entry> entries_;
  std::vector<BlockId> buckets_;  ///< power of two
  std::vector<TokenId> tokens_;   ///< [block_count, block_size]
  std::int32_t size_ = 0;
};

}  // namespace kantha::cache
