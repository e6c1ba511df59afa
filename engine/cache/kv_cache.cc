#include "engine/cache/kv_cache.h"

#include <algorithm>
#include <utility>

namespace kantha::cache {

KvCache::KvCache(KvCacheOptions options)
    : options_(std::move(options)), pool_(options_.block_count, options_.block_size) {
  CHECK(options_.groups.size() == 1 && options_.groups[0].window == 0,
        "one group that attends to everything");
}

KvUsage KvCache::usage() const {
  const std::int64_t reserved = std::int64_t{active()} * block_size();
  return {.tokens_reserved = reserved, .tokens_used = reserved};
}

PrefixHit KvCache::find_head(std::span<const TokenId> tokens, std::uint64_t salt) const {
  PrefixHit hit;
  if (!options_.prefix_caching) return hit;
  PrefixMatch match = pool_.match(tokens, salt);
  hit.blocks = std::move(match.blocks);
  hit.blocks_taken = match.idle;
  hit.blocks_held = static_cast<std::int32_t>(hit.blocks.size());
  hit.tokens = hit.blocks_held * block_size();
  return hit;
}

PrefixHit KvCache::find(std::span<const TokenId> tokens, std::uint64_t salt) const {
  CHECK(!tokens.empty(), "a sequence has tokens");
  PrefixHit hit = find_head(tokens, salt);
  if (hit.tokens < static_cast<std::int32_t>(tokens.size())) return hit;
  // All is known: the last token is computed again, in a copy of its block.
  --hit.tokens;
  hit.partial = hit.blocks.back();
  hit.blocks.pop_back();
  ++hit.blocks_taken;
  return hit;
}

PrefixHit KvCache::find_whole(std::span<const TokenId> tokens, std::uint64_t salt) const {
  // Without the last token its block is not whole, and one token is left to compute.
  return find_head(tokens.first(tokens.size() - 1), salt);
}

std::int32_t blocks_for(const KvCacheOptions& options, std::int32_t tokens,
                        std::int32_t chunk_max) {
  const auto rows = [&](std::int64_t count) {
    return static_cast<std::int32_t>((count + options.block_size - 1) / options.block_size);
  };
  std::int32_t blocks = 0;
  for (const KvGroup& group : options.groups) {
    const std::int32_t all = rows(tokens);
    // Window and chunk may begin and end in the middle of a block.
    const std::int32_t seen = rows(std::int64_t{group.window} + chunk_max) + 1;
    blocks += group.window == 0 ? all : std::min(all, seen);
  }
  return blocks;
}

}  // namespace kantha::cache
