#pragma once

#include <cstdint>
#include <vector>

/// What a KV cache is made of.
namespace kantha::cache {

/// Layers that attend alike. Every group has its own block for each stretch of block_size tokens,
/// and all blocks are of one size, so that one pool and one count serve all groups.
struct KvGroup {
  /// A token attends to the last `window` positions, its own included; 0 = to all of them.
  std::int32_t window = 0;

  bool operator==(const KvGroup&) const = default;
};

/// More kinds of attention in one model than any known one has; bounds arrays on the stack.
inline constexpr std::int32_t kGroupsMax = 8;

struct KvCacheOptions {
  std::int32_t block_count = 0;
  std::int32_t block_size = 16;               ///< tokens per block, 1 to 256
  std::vector<KvGroup> groups = {KvGroup{}};  ///< 1 to kGroupsMax
  bool prefix_caching = true;
  /// Bits of a content hash that are used, 1 to 64. Tests cut it to provoke collisions, which must
  /// cost time only: every hit is confirmed token by token.
  std::int32_t hash_bits = 64;
};

/// First row (of block_size tokens) that the token at `position` attends to.
inline std::int32_t first_row_seen(KvGroup group, std::int32_t position, std::int32_t block_size) {
  if (group.window == 0 || position < group.window) return 0;
  return (position - group.window + 1) / block_size;
}

/// Fewest tokens of a block that are worth a copy and an entry of their own. A block of one token
/// has no parts.
inline std::int32_t part_tokens_min(std::int32_t block_size) {
  return block_size < 8 ? 1 : block_size / 8;
}

}  // namespace kantha::cache
