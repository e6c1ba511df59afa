#include "engine/cache/prefix_tree.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/rng.h"

namespace kantha::cache {
namespace {

constexpr int kCandidatesMax = 16;

/// Nodes with blocks are at most as many as blocks; where all groups have windows, rows without a
/// block are remembered as the way to those that have one.
std::size_t node_count(const KvCacheOptions& options) {
  const bool all_windowed =
      std::ranges::all_of(options.groups, [](const KvGroup& group) { return group.window > 0; });
  return static_cast<std::size_t>(options.block_count) * (all_windowed ? 4 : 1);
}

}  // namespace

PrefixTree::PrefixTree(const KvCacheOptions& options)
    : groups_(options.groups),
      block_size_(static_cast<std::size_t>(options.block_size)),
      head_tokens_(static_cast<std::size_t>(part_tokens_min(options.block_size))),
      hash_mask_(options.hash_bits >= 64 ? ~std::uint64_t{0}
                                         : (std::uint64_t{1} << options.hash_bits) - 1),
      nodes_(node_count(options)),
      buckets_(std::bit_ceil(nodes_.size() * 2), kNoNode),
      heads_(buckets_.size(), kNoNode),
      tokens_(nodes_.size() * block_size_),
      blocks_(nodes_.size() * groups_.size(), kNoBlock),
      owners_(static_cast<std::size_t>(options.block_count)) {
  CHECK(options.hash_bits >= 1 && options.hash_bits <= 64, "1 to 64 bits of hash");
  unused_.reserve(nodes_.size());
  for (auto node = static_cast<NodeId>(nodes_.size()); node-- > 0;) unused_.push_back(node);
}

std::uint64_t PrefixTree::hash_of(const PrefixKey& key) const {
  std::uint64_t hash = key.parent == kNoNode ? random_bits(key.salt, 0) : at(key.parent).hash;
  for (const TokenId token : key.tokens) {
    hash = random_bits(hash, static_cast<std::uint32_t>(token) + std::uint64_t{1});
  }
  return hash & hash_mask_;
}

std::uint64_t PrefixTree::head_hash_of(const PrefixKey& key) const {
  std::uint64_t hash = key.parent == kNoNode
                           ? random_bits(key.salt, 1)
                           : random_bits(static_cast<std::uint64_t>(key.parent), 2);
  for (const TokenId token : key.tokens.first(head_tokens_)) {
    hash = random_bits(hash, static_cast<std::uint32_t>(token) + std::uint64_t{1});
  }
  return hash & hash_mask_;
}

bool PrefixTree::same_place(NodeId node, const PrefixKey& key) const {
  return at(node).parent == key.parent && (key.parent != kNoNode || at(node).salt == key.salt);
}

NodeId PrefixTree::find(const PrefixKey& key) const {
  CHECK(key.tokens.size() == block_size_, "a whole row");
  CHECK(key.parent == kNoNode || whole(key.parent), "the parent is a whole row");
  const std::uint64_t hash = hash_of(key);
  NodeId node = buckets_[bucket_of(hash)];
  for (; node != kNoNode; node = at(node).next) {
    if (at(node).hash == hash && same_place(node, key) &&
        std::ranges::equal(tokens(node), key.tokens)) {
      return node;
    }
  }
  return kNoNode;
}

PrefixPart PrefixTree::find_part(const PrefixKey& key) const {
  PrefixPart best;
  if (block_size_ == 1 || key.tokens.size() < head_tokens_) return best;
  const std::uint64_t hash = head_hash_of(key);
  int looked_at = 0;
  for (NodeId node = heads_[bucket_of(hash)]; node != kNoNode; node = at(node).head_next) {
    if (at(node).head_hash != hash || !same_place(node, key)) continue;
    if (++looked_at > kCandidatesMax) break;
    if (at(node).blocks < static_cast<std::int32_t>(groups_.size())) continue;
    const auto differ = std::ranges::mismatch(tokens(node), key.tokens);
    const auto common = static_cast<std::int32_t>(differ.in2 - key.tokens.begin());
    if (common > best.tokens) best = {.node = node, .tokens = common};
  }
  // Begins alike by hash only: nothing that is worth a copy.
  if (best.tokens < static_cast<std::int32_t>(head_tokens_)) return {};
  return best;
}

NodeId PrefixTree::shorter_leaf(const PrefixKey& key) const {
  if (leaves_ == 0 || key.tokens.size() < head_tokens_) return kNoNode;
  const std::uint64_t hash = head_hash_of(key);
  int looked_at = 0;
  for (NodeId node = heads_[bucket_of(hash)]; node != kNoNode; node = at(node).head_next) {
    if (at(node).head_hash != hash || !same_place(node, key)) continue;
    if (++looked_at > kCandidatesMax) break;
    const std::span<const TokenId> own = tokens(node);
    if (whole(node) || own.size() >= key.tokens.size()) continue;
    if (std::ranges::equal(own, key.tokens.first(own.size()))) return node;
  }
  return kNoNode;
}

NodeId PrefixTree::insert(const PrefixKey& key) {
  CHECK(!full(), "there is a node to use");
  CHECK(key.tokens.size() >= head_tokens_ && key.tokens.size() <= block_size_, "a row or a part");
  CHECK(key.parent == kNoNode || whole(key.parent), "the parent is a whole row");
  const NodeId node = unused_.back();
  unused_.pop_back();
  at(node) = {.hash = hash_of(key),
              .head_hash = head_hash_of(key),
              .salt = key.salt,
              .parent = key.parent,
              .count = static_cast<std::int32_t>(key.tokens.size())};
  std::ranges::copy(
      key.tokens,
      tokens_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(node) * block_size_));
  if (key.parent != kNoNode) ++at(key.parent).children;
  link(node);
  ++size_;
  if (!whole(node)) ++leaves_;
  return node;
}

void PrefixTree::link(NodeId node) {
  NodeId& head = heads_[bucket_of(at(node).head_hash)];
  at(node).head_next = head;
  if (head != kNoNode) at(head).head_previous = node;
  head = node;
  if (!whole(node)) return;
  NodeId& first = buckets_[bucket_of(at(node).hash)];
  at(node).next = first;
  first = node;
}

void PrefixTree::unlink(NodeId node) {
  const Node& gone = at(node);
  (gone.head_previous == kNoNode ? heads_[bucket_of(gone.head_hash)]
                                 : at(gone.head_previous).head_next) = gone.head_next;
  if (gone.head_next != kNoNode) at(gone.head_next).head_previous = gone.head_previous;
  if (!whole(node)) return;
  NodeId* place = &buckets_[bucket_of(gone.hash)];
  while (*place != node) place = &at(*place).next;
  *place = gone.next;
}

void PrefixTree::attach(NodeId node, std::int32_t group, BlockId block) {
  BlockId& place = block_at(node, static_cast<std::size_t>(group));
  CHECK(place == kNoBlock, "a row has one block per group");
  CHECK(!contains(block), "a block has one content");
  place = block;
  owners_[static_cast<std::size_t>(block)] = {.node = node, .group = group};
  ++at(node).blocks;
}

bool PrefixTree::useless(NodeId node) const {
  return at(node).blocks == 0 && at(node).children == 0 && at(node).pins == 0;
}

void PrefixTree::destroy(NodeId node, std::vector<BlockId>& loose) {
  while (true) {
    CHECK(at(node).children == 0 && at(node).pins == 0, "children go before their parent");
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      BlockId& block = block_at(node, group);
      if (block == kNoBlock) continue;
      owners_[static_cast<std::size_t>(block)] = {};
      loose.push_back(block);
      block = kNoBlock;
    }
    const NodeId parent = at(node).parent;
    unlink(node);
    if (!whole(node)) --leaves_;
    --size_;
    at(node) = {};
    unused_.push_back(node);
    if (parent == kNoNode) return;
    --at(parent).children;
    if (!useless(parent)) return;
    node = parent;
  }
}

void PrefixTree::detach(BlockId block, std::vector<BlockId>& loose) {
  CHECK(contains(block), "a node knows the block");
  const NodeId node = node_of(block);
  if (keeps_node(block) || !whole(node)) return destroy(node, loose);
  block_at(node, static_cast<std::size_t>(owner(block).group)) = kNoBlock;
  owners_[static_cast<std::size_t>(block)] = {};
  loose.push_back(block);
  --at(node).blocks;
  if (useless(node)) destroy(node, loose);
}

void PrefixTree::forget(NodeId leaf, std::vector<BlockId>& loose) {
  CHECK(!whole(leaf), "whole rows go with their blocks");
  destroy(leaf, loose);
}

void PrefixTree::unpin(NodeId node) {
  CHECK(at(node).pins > 0, "an unpin has a pin");
  --at(node).pins;
  if (!useless(node)) return;
  std::vector<BlockId> loose;
  destroy(node, loose);
  CHECK(loose.empty(), "it had no block");
}

std::int64_t PrefixTree::pins() const {
  std::int64_t pins = 0;
  for (const Node& node : nodes_) pins += node.pins;
  return pins;
}

Status PrefixTree::check_node(NodeId node) const {
  const std::string name = "prefix tree: node " + std::to_string(node);
  const Node& own = at(node);
  std::int32_t blocks = 0;
  for (std::int32_t g = 0; g < std::ssize(groups_); ++g) {
    const BlockId held = block(node, g);
    if (held == kNoBlock) {
      if (group(g).window == 0 || !whole(node)) return internal_error(name + " lost a block");
      continue;
    }
    ++blocks;
    if (node_of(held) != node || owner(held).group != g) {
      return internal_error(name + " names a block of another");
    }
  }
  if (blocks != own.blocks) return internal_error(name + " miscounts its blocks");
  if (useless(node)) return internal_error(name + " serves nobody");
  if (!whole(node) && own.children + own.pins > 0) return internal_error(name + " is no leaf");
  if (own.parent != kNoNode && !whole(own.parent)) return internal_error(name + " lost its parent");
  return ok_status();
}

Status PrefixTree::check_integrity() const {
  std::vector<std::int32_t> children(nodes_.size(), 0);
  std::int32_t wholes = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    for (NodeId node = buckets_[bucket]; node != kNoNode; node = at(node).next) {
      if (!whole(node) || bucket_of(at(node).hash) != bucket || ++wholes > size_) {
        return internal_error("prefix tree: bucket " + std::to_string(bucket) + " is wrong");
      }
    }
  }
  std::int32_t reached = 0;
  for (std::size_t bucket = 0; bucket < heads_.size(); ++bucket) {
    NodeId previous = kNoNode;
    for (NodeId node = heads_[bucket]; node != kNoNode; node = at(node).head_next) {
      if (at(node).count == 0 || bucket_of(at(node).head_hash) != bucket || ++reached > size_ ||
          at(node).head_previous != previous) {
        return internal_error("prefix tree: head bucket " + std::to_string(bucket) + " is wrong");
      }
      previous = node;
      TRY_OK(check_node(node));
      if (at(node).parent != kNoNode) ++children[static_cast<std::size_t>(at(node).parent)];
    }
  }
  if (reached != size_ || wholes + leaves_ != size_ ||
      unused_.size() + static_cast<std::size_t>(size_) != nodes_.size()) {
    return internal_error("prefix tree: nodes are miscounted");
  }
  std::int64_t named = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].children != children[i]) {
      return internal_error("prefix tree: wrong child count of node " + std::to_string(i));
    }
    named += nodes_[i].blocks;
  }
  if (named != std::ranges::count_if(owners_, [](const Owner& o) { return o.node != kNoNode; })) {
    return internal_error("prefix tree: a block names a node that does not name it");
  }
  return ok_status();
}

}  // namespace kantha::cache
