#include "engine/cache/prefix_index.h"

#include <algorithm>
#include <bit>

#include "base/rng.h"

namespace kantha::cache {

PrefixIndex::PrefixIndex(std::int32_t block_count, std::int32_t block_size)
    : block_size_(static_cast<std::size_t>(block_size)),
      entries_(static_cast<std::size_t>(block_count)),
      buckets_(std::bit_ceil(static_cast<std::size_t>(block_count) * 2), kNoBlock),
      tokens_(static_cast<std::size_t>(block_count) * block_size_) {}

std::uint64_t PrefixIndex::hash_of(const PrefixKey& key) const {
  std::uint64_t hash = key.parent == kNoBlock ? random_bits(key.salt, 0) : entry(key.parent).hash;
  for (const TokenId token : key.tokens) {
    hash = random_bits(hash, static_cast<std::uint32_t>(token) + std::uint64_t{1});
  }
  return hash;
}

bool PrefixIndex::holds(BlockId block, const PrefixKey& key) const {
  const Entry& candidate = entry(block);
  if (candidate.parent != key.parent) return false;
  if (key.parent == kNoBlock && candidate.salt != key.salt) return false;
  return std::equal(key.tokens.begin(), key.tokens.end(),
                    tokens_.begin() + static_cast<std::ptrdiff_t>(block * block_size_));
}

std::optional<BlockId> PrefixIndex::find(const PrefixKey& key) const {
  CHECK(key.tokens.size() == block_size_, "only full blocks are indexed");
  CHECK(key.parent == kNoBlock || contains(key.parent), "the parent is indexed");
  const std::uint64_t hash = hash_of(key);
  BlockId block = buckets_[bucket_of(hash)];
  for (; block != kNoBlock; block = entry(block).next) {
    if (entry(block).hash == hash && holds(block, key)) return block;
  }
  return std::nullopt;
}

void PrefixIndex::insert(BlockId block, const PrefixKey& key) {
  CHECK(!contains(block), "a block has one content");
  CHECK(!find(key).has_value(), "a content has one block");
  const std::uint64_t hash = hash_of(key);
  BlockId& head = buckets_[bucket_of(hash)];
  entry(block) = {.hash = hash,
                  .salt = key.salt,
                  .parent = key.parent,
                  .next = head,
                  .children = 0,
                  .present = true};
  head = block;
  std::ranges::copy(key.tokens, tokens_.begin() + static_cast<std::ptrdiff_t>(block * block_size_));
  if (key.parent != kNoBlock) ++entry(key.parent).children;
  ++size_;
}

void PrefixIndex::erase(BlockId block) {
  CHECK(contains(block), "the block is indexed");
  CHECK(entry(block).children == 0, "children go before their parent");
  BlockId* link = &buckets_[bucket_of(entry(block).hash)];
  while (*link != block) link = &entry(*link).next;
  *link = entry(block).next;
  if (entry(block).parent != kNoBlock) --entry(entry(block).parent).children;
  entry(block) = {};
  --size_;
}

Status PrefixIndex::check_integrity() const {
  std::vector<std::int32_t> children(entries_.size(), 0);
  std::int32_t reached = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    for (BlockId block = buckets_[bucket]; block != kNoBlock; block = entry(block).next) {
      if (!contains(block) || bucket_of(entry(block).hash) != bucket || ++reached > size_) {
        return internal_error("prefix index: block " + std::to_string(block) + " in bucket " +
                              std::to_string(bucket) + " does not belong there");
      }
      const BlockId parent = entry(block).parent;
      if (parent == kNoBlock) continue;
      if (!contains(parent)) {
        return internal_error("prefix index: block " + std::to_string(block) + " lost its parent");
      }
      ++children[static_cast<std::size_t>(parent)];
    }
  }
  if (reached != size_) return internal_error("prefix index: entries are missing from buckets");
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].children != children[i]) {
      return internal_error("prefix index: wrong child count of block " + std::to_string(i));
    }
  }
  return ok_status();
}

}  // namespace kantha::cache
