#include "engine/cache/block_pool.h"

#include <string>
#include <utility>

namespace kantha::cache {

BlockRef::BlockRef(BlockRef&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), id_(std::exchange(other.id_, kNoBlock)) {}

BlockRef& BlockRef::operator=(BlockRef&& other) noexcept {
  if (this != &other) {
    reset();
    pool_ = std::exchange(other.pool_, nullptr);
    id_ = std::exchange(other.id_, kNoBlock);
  }
  return *this;
}

void BlockRef::reset() {
  if (pool_ == nullptr) return;
  std::exchange(pool_, nullptr)->release(std::exchange(id_, kNoBlock));
}

BlockPool::BlockPool(std::int32_t block_count, std::int32_t block_size)
    : block_size_(block_size),
      holders_(static_cast<std::size_t>(block_count), 0),
      list_(block_count),
      prefixes_(block_count, block_size) {
  CHECK(block_count >= 1, "a pool has blocks");
  CHECK(block_size >= 1 && block_size <= 256, "1 to 256 tokens per block");
  for (BlockId block = 0; block < block_count; ++block) list_.push_back(block);
}

BlockPool::~BlockPool() { CHECK(active() == 0, "handles do not outlive the pool"); }

BlockRef BlockPool::hold(BlockId block) {
  std::int32_t& holders = holders_[static_cast<std::size_t>(block)];
  if (holders == 0) {
    list_.remove(block);
    if (prefixes_.contains(block)) --cached_;
  }
  ++holders;
  return {*this, block};
}

std::optional<BlockRef> BlockPool::take() {
  const BlockId block = list_.front();
  if (block == kNoBlock) return std::nullopt;
  BlockRef taken = hold(block);
  if (prefixes_.contains(block)) prefixes_.erase(block);
  return taken;
}

BlockRef BlockPool::adopt(BlockId indexed) {
  CHECK(prefixes_.contains(indexed), "only indexed blocks can be adopted");
  return hold(indexed);
}

BlockRef BlockPool::share(const BlockRef& held) { return hold(held.id()); }

bool BlockPool::writable(const BlockRef& held) const {
  return holders(held.id()) == 1 && !prefixes_.contains(held.id());
}

void BlockPool::release(BlockId block) {
  std::int32_t& holders = holders_[static_cast<std::size_t>(block)];
  CHECK(holders > 0, "a release has a hold");
  if (--holders > 0) return;
  if (prefixes_.contains(block)) {
    ++cached_;
    list_.push_back(block);
  } else {
    list_.push_front(block);  // nothing worth keeping: reuse it before anything warm
  }
}

PrefixMatch BlockPool::match(std::span<const TokenId> tokens, std::uint64_t salt) const {
  PrefixMatch match;
  PrefixKey key{.parent = kNoBlock, .salt = salt};
  const auto size = static_cast<std::size_t>(block_size_);
  for (std::size_t start = 0; start + size <= tokens.size(); start += size) {
    key.tokens = tokens.subspan(start, size);
    const std::optional<BlockId> found = prefixes_.find(key);
    if (!found) break;
    match.blocks.push_back(*found);
    if (!held(*found)) ++match.idle;
    key.parent = *found;
  }
  return match;
}

Status BlockPool::check_integrity() const {
  std::vector<std::int32_t> place(holders_.size(), -1);  // position in the free list
  std::int32_t listed = 0;
  for (BlockId block = list_.front(); block != kNoBlock; block = list_.after(block)) {
    std::int32_t& seen = place[static_cast<std::size_t>(block)];
    if (seen >= 0 || listed >= list_.size()) return internal_error("block pool: list has a loop");
    seen = listed++;
  }
  if (listed != list_.size()) return internal_error("block pool: list is cut");
  std::int32_t held_count = 0;
  std::int32_t cached = 0;
  for (BlockId block = 0; block < total(); ++block) {
    const std::int32_t own = place[static_cast<std::size_t>(block)];
    if (held(block) ? own >= 0 : own < 0) {
      return internal_error("block pool: block " + std::to_string(block) +
                            " is lost or held twice");
    }
    if (held(block)) ++held_count;
    if (!prefixes_.contains(block)) continue;
    if (!held(block)) ++cached;
    const BlockId parent = prefixes_.parent(block);
    if (parent == kNoBlock || held(parent)) continue;
    if (held(block) || own > place[static_cast<std::size_t>(parent)]) {
      return internal_error("block pool: block " + std::to_string(block) + " outlives its parent");
    }
  }
  if (held_count + listed != total() || cached != cached_) {
    return internal_error("block pool: " + std::to_string(held_count) + " held + " +
                          std::to_string(listed) + " idle of " + std::to_string(total()) + ", " +
                          std::to_string(cached) + " cached, " + std::to_string(cached_) +
                          " counted");
  }
  return prefixes_.check_integrity();
}

}  // namespace kantha::cache
