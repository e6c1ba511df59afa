#include "engine/cache/kv_cache.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kantha::cache {

KvCache::KvCache(KvCacheOptions options)
    : options_(std::move(options)),
      windowed_(std::ranges::any_of(options_.groups,
                                    [](const KvGroup& group) { return group.window > 0; })),
      pool_(options_) {}

KvUsage KvCache::usage() const {
  return {.tokens_reserved = std::int64_t{active()} * block_size(),
          .tokens_used = pool_.tokens_used()};
}

namespace {

/// Blocks in an unbroken run up to the row that is looked at, per group.
class Runs {
 public:
  explicit Runs(const KvCacheOptions& options) : options_(options) {}

  void add(const PrefixTree& tree, NodeId node) {
    for (std::size_t g = 0; g < options_.groups.size(); ++g) {
      const bool there = tree.block(node, static_cast<std::int32_t>(g)) != kNoBlock;
      runs_[g] = there ? runs_[g] + 1 : 0;
    }
  }

  /// Whether a token after `rows` rows finds every row that it attends to.
  bool reach(std::int32_t rows) const {
    for (std::size_t g = 0; g < options_.groups.size(); ++g) {
      const std::int32_t block_size = options_.block_size;
      const std::int32_t first = first_row_seen(options_.groups[g], rows * block_size, block_size);
      if (runs_[g] < rows - first) return false;
    }
    return true;
  }

 private:
  const KvCacheOptions& options_;
  std::array<std::int32_t, kGroupsMax> runs_{};
};

}  // namespace

PrefixHit KvCache::find_rows(std::span<const TokenId> tokens, std::uint64_t salt) const {
  PrefixHit hit;
  if (!options_.prefix_caching) return hit;
  const auto size = static_cast<std::size_t>(block_size());
  Runs runs(options_);
  PrefixKey key{.parent = kNoNode, .salt = salt};
  std::int32_t rows = 0;
  for (std::size_t start = 0; start + size <= tokens.size(); start += size) {
    key.tokens = tokens.subspan(start, size);
    key.parent = pool_.tree().find(key);
    if (key.parent == kNoNode) break;
    ++rows;
    if (windowed_) {
      runs.add(pool_.tree(), key.parent);
      if (!runs.reach(rows)) continue;
    }
    hit.rows = rows;
    hit.node = key.parent;
  }
  hit.tokens = hit.rows * block_size();
  return hit;
}

void KvCache::count_blocks(PrefixHit& hit) const {
  std::array<std::int32_t, kGroupsMax> first{};
  for (std::size_t g = 0; g < options_.groups.size(); ++g) {
    first[g] = first_row_seen(options_.groups[g], hit.tokens, block_size());
  }
  NodeId node = hit.node;
  for (std::int32_t row = hit.rows; row-- > 0; node = pool_.tree().parent(node)) {
    for (std::int32_t g = 0; g < group_count(); ++g) {
      if (row < first[static_cast<std::size_t>(g)]) continue;
      ++hit.blocks_held;
      if (!pool_.held(pool_.tree().block(node, g))) ++hit.blocks_taken;
    }
  }
  if (hit.partial == kNoNode) return;
  hit.blocks_held += group_count();
  hit.blocks_taken += group_count();
}

PrefixHit KvCache::find(std::span<const TokenId> tokens, std::uint64_t salt) const {
  CHECK(!tokens.empty(), "a sequence has tokens");
  const std::span<const TokenId> useful = tokens.first(tokens.size() - 1);
  PrefixHit hit = find_rows(useful, salt);
  if (options_.prefix_caching) {
    const std::span<const TokenId> rest = useful.subspan(static_cast<std::size_t>(hit.tokens));
    const PrefixKey key{
        .parent = hit.node,
        .salt = salt,
        .tokens = rest.first(std::min(rest.size(), static_cast<std::size_t>(block_size())))};
    const PrefixPart part = pool_.tree().find_part(key);
    hit.partial = part.node;
    hit.tokens += part.tokens;
  }
  count_blocks(hit);
  return hit;
}

PrefixHit KvCache::find_whole(std::span<const TokenId> tokens, std::uint64_t salt) const {
  CHECK(!tokens.empty(), "a sequence has tokens");
  PrefixHit hit = find_rows(tokens.first(tokens.size() - 1), salt);
  count_blocks(hit);
  return hit;
}

std::int32_t blocks_for(const KvCacheOptions& options, std::int32_t tokens,
                        std::int32_t chunk_max) {
  const auto rows = [&](std::int64_t count) {
    return static_cast<std::int32_t>((count + options.block_size - 1) / options.block_size);
  };
  std::int32_t blocks = 0;
  for (const KvGroup& group : options.groups) {
    const std::int32_t all = rows(tokens);
    if (group.window == 0) {
      blocks += all;
      continue;
    }
    // window + chunk_max positions in a row, which may begin and end in the middle of a block.
    const std::int32_t seen = rows(std::int64_t{group.window} + chunk_max - 1) + 1;
    blocks += std::min(all, seen);
  }
  return blocks;
}

}  // namespace kantha::cache
