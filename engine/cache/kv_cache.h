#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/result.h"
#include "engine/cache/block_pool.h"
#include "engine/cache/kv_options.h"

/// The KV cache of one engine behind one door.
namespace kantha::cache {

/// What the cache has of the head of some tokens. A look: it takes nothing, and it holds until the
/// cache changes. Counts are over all groups.
struct PrefixHit {
  std::int32_t tokens = 0;        ///< need no computing; fewer than were asked about
  std::int32_t blocks_held = 0;   ///< that a sequence holds after SequenceBlocks::adopt
  std::int32_t blocks_taken = 0;  ///< idle blocks that adopt takes: idle hits, targets of copies
  /// Whole rows and the last one's node; then a node to copy a part of, if any. The cache's own
  /// business.
  std::int32_t rows = 0;
  NodeId node = kNoNode;
  NodeId partial = kNoNode;
};

/// Reserved and used KV storage of what is referenced now: places for a token in one group each,
/// places that several sequences share once. Waste = 1 - used / reserved.
struct KvUsage {
  std::int64_t tokens_reserved = 0;
  std::int64_t tokens_used = 0;  ///< of those, with keys and values in them
};

/// Owns the pool; SequenceBlocks (sequence_blocks.h) are the holders. The engine thread owns it.
class KvCache {
 public:
  /// CHECKs as BlockPool.
  explicit KvCache(KvCacheOptions options);

  std::int32_t block_size() const { return pool_.block_size(); }
  std::int32_t group_count() const { return static_cast<std::int32_t>(options_.groups.size()); }
  const KvCacheOptions& options() const { return options_; }
  /// Some group has a window.
  bool windowed() const { return windowed_; }
  std::int32_t total() const { return pool_.total(); }
  std::int32_t idle() const { return pool_.idle(); }
  std::int32_t active() const { return pool_.active(); }
  std::int32_t cached() const { return pool_.cached(); }
  /// Exact and O(1).
  KvUsage usage() const;

  /// The longest known head of `tokens` under `salt`, of whole rows and a part of one more
  /// (part_tokens_min or more); at most all but one token, because logits need a computed row. In a
  /// group with a window only the rows that the next token attends to must be there. Nothing when
  /// prefix caching is off. O(tokens).
  PrefixHit find(std::span<const TokenId> tokens, std::uint64_t salt) const;
  /// As find, of whole rows only: costs no copy.
  PrefixHit find_whole(std::span<const TokenId> tokens, std::uint64_t salt) const;

  Status check_integrity() const { return pool_.check_integrity(); }

  BlockPool& pool() { return pool_; }
  const BlockPool& pool() const { return pool_; }

 private:
  PrefixHit find_rows(std::span<const TokenId> tokens, std::uint64_t salt) const;
  void count_blocks(PrefixHit& hit) const;

  KvCacheOptions options_;
  bool windowed_ = false;
  BlockPool pool_;
};

/// Blocks that a sequence of `tokens` tokens holds at most while it computes up to `chunk_max`
/// tokens at once: whole length in groups that attend to everything; in others window and chunk,
/// and one token more, which is kept for a fork that computes the last token again.
std::int32_t blocks_for(const KvCacheOptions& options, std::int32_t tokens, std::int32_t chunk_max);

}  // namespace kantha::cache
