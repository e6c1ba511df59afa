#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/cache/block_pool.h"

/// The KV cache of one engine behind one door.
namespace kantha::cache {

/// Layers that attend alike. Every group has its own block for each stretch of block_size tokens,
/// and all blocks are of one size, so that one pool and one count serve all groups.
struct KvGroup {
  /// A token attends to the last `window` positions, its own included; 0 = to all of them.
  std::int32_t window = 0;
};

struct KvCacheOptions {
  std::int32_t block_count = 0;
  std::int32_t block_size = 16;               ///< tokens per block, 1 to 256
  std::vector<KvGroup> groups = {KvGroup{}};  ///< at least one
  bool prefix_caching = true;
};

/// What the cache has of the head of some tokens. A look: it takes nothing, and it holds until the
/// cache changes.
struct PrefixHit {
  std::int32_t tokens = 0;        ///< need no computing; fewer than were asked about
  std::int32_t blocks_held = 0;   ///< that a sequence holds after SequenceBlocks::adopt
  std::int32_t blocks_taken = 0;  ///< idle blocks that adopt takes: idle hits, targets of copies
  /// Whole blocks, then one to copy a part of; the cache's own business.
  std::vector<BlockId> blocks = {};
  BlockId partial = kNoBlock;
};

/// Reserved and used KV storage of what is referenced now.
struct KvUsage {
  std::int64_t tokens_reserved = 0;  ///< of referenced blocks, shared ones once
  std::int64_t tokens_used = 0;      ///< of those, with keys and values in them
};

/// Owns the pool; SequenceBlocks (sequence_blocks.h) are the holders. The engine thread owns it.
class KvCache {
 public:
  /// CHECKs as BlockPool, and that there is a group.
  explicit KvCache(KvCacheOptions options);

  std::int32_t block_size() const { return pool_.block_size(); }
  std::int32_t group_count() const { return static_cast<std::int32_t>(options_.groups.size()); }
  const KvCacheOptions& options() const { return options_; }
  std::int32_t total() const { return pool_.total(); }
  std::int32_t idle() const { return pool_.idle(); }
  std::int32_t active() const { return pool_.active(); }
  std::int32_t cached() const { return pool_.cached(); }
  KvUsage usage() const;

  /// The longest known head of `tokens` under `salt`, of whole blocks and a part of one more; at
  /// most all but one token, because logits need a computed row. Nothing when prefix caching is
  /// off. O(tokens).
  PrefixHit find(std::span<const TokenId> tokens, std::uint64_t salt) const;
  /// As find, of whole blocks only: costs no copy.
  PrefixHit find_whole(std::span<const TokenId> tokens, std::uint64_t salt) const;

  Status check_integrity() const { return pool_.check_integrity(); }

  BlockPool& pool() { return pool_; }
  const BlockPool& pool() const { return pool_; }

 private:
  PrefixHit find_head(std::span<const TokenId> tokens, std::uint64_t salt) const;

  KvCacheOptions options_;
  BlockPool pool_;
};

/// Blocks that a sequence of `tokens` tokens holds at most while it computes up to `chunk_max`
/// tokens at once: whole length in groups that attend to everything, window and chunk in others.
std::int32_t blocks_for(const KvCacheOptions& options, std::int32_t tokens, std::int32_t chunk_max);

}  // namespace kantha::cache
