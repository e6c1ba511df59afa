#include "engine/cache/block_pool.h"

#include <algorithm>
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

namespace {

const KvCacheOptions& checked(const KvCacheOptions& options) {
  CHECK(options.block_count >= 1, "a pool has blocks");
  CHECK(options.block_size >= 1 && options.block_size <= 256, "1 to 256 tokens per block");
  CHECK(!options.groups.empty() && std::ssize(options.groups) <= kGroupsMax, "1 to 8 groups");
  for (const KvGroup& group : options.groups) CHECK(group.window >= 0, "a window or none");
  return options;
}

}  // namespace

BlockPool::BlockPool(const KvCacheOptions& options)
    : block_size_(checked(options).block_size),
      groups_(static_cast<std::int32_t>(options.groups.size())),
      holders_(static_cast<std::size_t>(options.block_count), 0),
      fills_(holders_.size(), 0),
      free_(options.block_count),
      cached_(options.block_count),
      tree_(options) {
  for (BlockId block = 0; block < options.block_count; ++block) free_.push_back(block);
}

BlockPool::~BlockPool() {
  CHECK(active() == 0, "handles do not outlive the pool");
  CHECK(tree_.pins() == 0, "sequences do not outlive the pool");
}

BlockRef BlockPool::hold(BlockId block) {
  if (holders_[static_cast<std::size_t>(block)]++ == 0) {
    (tree_.contains(block) ? cached_ : free_).remove(block);
    tokens_used_ += fill(block);
  }
  return {*this, block};
}

void BlockPool::release(BlockId block) {
  std::int32_t& holders = holders_[static_cast<std::size_t>(block)];
  CHECK(holders > 0, "a release has a hold");
  if (--holders > 0) return;
  tokens_used_ -= fill(block);
  if (tree_.contains(block)) {
    cached_.push_back(block);
  } else {
    fills_[static_cast<std::size_t>(block)] = 0;
    free_.push_front(block);  // still in the processor's caches, if anywhere
  }
}

std::optional<BlockRef> BlockPool::take() {
  if (free_.size() == 0) {
    if (cached_.size() == 0) return std::nullopt;
    tree_.detach(cached_.front(), loose_);
    let_loose();
  }
  return hold(free_.front());
}

/// Moves what the tree forgot from cached to free. The first one ends up at the front.
void BlockPool::let_loose() {
  while (!loose_.empty()) {
    const BlockId block = loose_.back();
    loose_.pop_back();
    if (held(block)) continue;
    cached_.remove(block);
    fills_[static_cast<std::size_t>(block)] = 0;
    free_.push_front(block);
  }
}

BlockRef BlockPool::adopt(BlockId known) {
  CHECK(tree_.contains(known), "only known blocks can be adopted");
  return hold(known);
}

BlockRef BlockPool::share(const BlockRef& held) { return hold(held.id()); }

void BlockPool::touch(BlockId known) {
  if (held(known)) return;
  cached_.remove(known);
  cached_.push_back(known);
}

bool BlockPool::writable(const BlockRef& held) const {
  return holders(held.id()) == 1 && !tree_.contains(held.id());
}

void BlockPool::set_fill(BlockId block, std::int32_t tokens) {
  std::int32_t& fill = fills_[static_cast<std::size_t>(block)];
  if (held(block)) tokens_used_ += tokens - fill;
  fill = tokens;
}

void BlockPool::filled(const BlockRef& held, std::int32_t tokens) {
  CHECK(tokens <= block_size_, "no more than fit");
  if (tokens > fill(held.id())) set_fill(held.id(), tokens);
}

void BlockPool::keep(const BlockRef& held, std::int32_t tokens) {
  CHECK(writable(held), "nobody else counts on the rest");
  set_fill(held.id(), tokens);
}

NodeId BlockPool::node_for(const PrefixKey& key) {
  const NodeId known = tree_.find(key);
  if (known != kNoNode) return known;
  if (tree_.full() && !make_node()) return kNoNode;
  forget_shorter(key);
  return tree_.insert(key);
}

void BlockPool::attach(NodeId node, std::int32_t group, const BlockRef& held) {
  tree_.attach(node, group, held.id());
  set_fill(held.id(), tree_.count(node));
}

void BlockPool::attach_leaf(const PrefixKey& key, std::span<const BlockRef* const> held) {
  const PrefixPart known = tree_.find_part(key);
  if (known.tokens == std::ssize(key.tokens)) {
    for (std::int32_t group = 0; group < groups_; ++group) touch(tree_.block(known.node, group));
    return;
  }
  if (tree_.full() && !make_node()) return;
  forget_shorter(key);
  const NodeId leaf = tree_.insert(key);
  for (std::int32_t group = 0; group < groups_; ++group) {
    attach(leaf, group, *held[static_cast<std::size_t>(group)]);
  }
}

/// Rows that only lead to cached blocks of others hold nodes: forgets the oldest of those blocks
/// until a node is unused. Bounded, for this is on the way of a running sequence.
bool BlockPool::make_node() {
  for (int i = 0; i < 64 && tree_.full() && cached_.size() > 0; ++i) {
    tree_.detach(cached_.front(), loose_);
    let_loose();
  }
  return !tree_.full();
}

void BlockPool::forget_shorter(const PrefixKey& key) {
  for (NodeId leaf = tree_.shorter_leaf(key); leaf != kNoNode; leaf = tree_.shorter_leaf(key)) {
    tree_.forget(leaf, loose_);
    let_loose();
  }
}

/// In a group without a window an idle child stands before its idle parent, and a held child's
/// parent is held.
Status BlockPool::check_order() const {
  std::vector<std::int32_t> place(holders_.size(), -1);
  std::int32_t listed = 0;
  for (BlockId block = cached_.front(); block != kNoBlock; block = cached_.after(block)) {
    if (listed >= cached_.size()) return internal_error("block pool: list has a loop");
    place[static_cast<std::size_t>(block)] = listed++;
  }
  if (listed != cached_.size()) return internal_error("block pool: list is cut");
  for (BlockId block = 0; block < total(); ++block) {
    if (!tree_.contains(block) || !tree_.keeps_node(block)) continue;
    const NodeId node = tree_.node_of(block);
    const NodeId parent = tree_.parent(node);
    if (parent == kNoNode) continue;
    for (std::int32_t group = 0; group < groups_; ++group) {
      if (tree_.block(node, group) != block) continue;
      const BlockId before = tree_.block(parent, group);
      if (held(before)) continue;
      if (held(block) ||
          place[static_cast<std::size_t>(block)] > place[static_cast<std::size_t>(before)]) {
        return internal_error("block pool: block " + std::to_string(block) +
                              " outlives its parent");
      }
    }
  }
  return ok_status();
}

Status BlockPool::check_integrity() const {
  std::int32_t held_count = 0;
  std::int64_t used = 0;
  for (BlockId block = 0; block < total(); ++block) {
    const bool known = tree_.contains(block);
    const std::string name = "block pool: block " + std::to_string(block);
    if (cached_.contains(block) != (!held(block) && known) ||
        free_.contains(block) != (!held(block) && !known)) {
      return internal_error(name + " is lost or held twice");
    }
    const bool filled_right =
        known ? fill(block) == tree_.count(tree_.node_of(block))
              : fill(block) >= 0 && fill(block) <= (held(block) ? block_size_ : 0);
    if (!filled_right) {
      return internal_error(name + " has a wrong fill of " + std::to_string(fill(block)));
    }
    if (held(block)) ++held_count;
    if (held(block)) used += fill(block);
  }
  if (held_count != active() || used != tokens_used_) {
    return internal_error("block pool: " + std::to_string(held_count) + " held, " +
                          std::to_string(active()) + " counted, with " + std::to_string(used) +
                          " tokens, " + std::to_string(tokens_used_) + " counted");
  }
  TRY_OK(check_order());
  return tree_.check_integrity();
}

}  // namespace kantha::cache
