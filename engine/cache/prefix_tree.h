#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/cache/free_list.h"
#include "engine/cache/kv_options.h"

/// Which blocks hold the keys and values of which tokens.
namespace kantha::cache {

/// Index of a node of the prefix tree; reused once the node is gone.
using NodeId = std::int32_t;
inline constexpr NodeId kNoNode = -1;

/// What a row holds: its own tokens and everything before them.
struct PrefixKey {
  NodeId parent = kNoNode;               ///< the row before; kNoNode at position 0
  std::uint64_t salt = 0;                ///< keeps tenants apart; looked at where parent is kNoNode
  std::span<const TokenId> tokens = {};  ///< 1 to block_size; block_size = a whole row
};

/// A node of which the first `tokens` tokens are those asked about.
struct PrefixPart {
  NodeId node = kNoNode;
  std::int32_t tokens = 0;
};

/// The content of rows, as a tree: a node is one row of tokens after its parent's, with the blocks
/// that hold it, at most one per group. Identity (parent, tokens, salt) is kept once per row, so
/// that a windowed group may lose an old block while the row stays known for the others.
///
/// Whole rows are found by a hash that is chained from the parent's and so stands for the whole
/// prefix; every hit is confirmed by comparing the parent and each token, so that a collision can
/// never hand out another prompt's keys and values. A *leaf* is a row that is not full: the tail of
/// a sequence that ended. It has no children and is found, like the head of a whole row, by its
/// first few tokens (find_part).
///
/// A node lives as long as it can serve a hit:
///   - where a group attends to everything, until such a group's block goes (nothing after the row
///     can be hit without it). The pool evicts children before their parents, which is CHECKed;
///   - where all groups have windows, until it has neither block nor child nor pin;
///   - a leaf until its first block goes: a part is taken in all groups or not at all.
/// No allocation after construction. One thread.
class PrefixTree {
 public:
  explicit PrefixTree(const KvCacheOptions& options);

  /// The node of a whole row; kNoNode when it is not known. About 4 ns per token.
  NodeId find(const PrefixKey& key) const;
  /// Among the nodes with key.parent and a block in every group, one that shares the longest head
  /// with key.tokens; looks at the 16 latest that begin alike. kNoNode when that is shorter than
  /// part_tokens_min.
  PrefixPart find_part(const PrefixKey& key) const;
  /// A leaf whose tokens are a shorter head of key.tokens, hence worthless beside it.
  NodeId shorter_leaf(const PrefixKey& key) const;

  /// No node can be inserted. Happens only where all groups have windows.
  bool full() const { return unused_.empty(); }
  /// A node without blocks; the caller attaches some before anything else happens. CHECKs that a
  /// whole row is not known yet and that a parent is a whole row.
  NodeId insert(const PrefixKey& key);
  /// `block` holds `node`'s row in `group`. CHECKs that neither is taken.
  void attach(NodeId node, std::int32_t group, BlockId block);
  /// Forgets what `block` holds. Appends to `loose` every block that no node knows any more, this
  /// one included.
  void detach(BlockId block, std::vector<BlockId>& loose);
  /// Forgets a leaf; `loose` as above.
  void forget(NodeId leaf, std::vector<BlockId>& loose);

  /// A pinned node lives without blocks too: a sequence continues after it.
  void pin(NodeId node) { ++at(node).pins; }
  void unpin(NodeId node);

  bool contains(BlockId block) const { return owner(block).node != kNoNode; }
  NodeId node_of(BlockId block) const { return owner(block).node; }
  BlockId block(NodeId node, std::int32_t group) const {
    return blocks_[static_cast<std::size_t>(node) * groups_.size() +
                   static_cast<std::size_t>(group)];
  }
  NodeId parent(NodeId node) const { return at(node).parent; }
  /// Tokens of the node's row; fewer than block_size in a leaf.
  std::int32_t count(NodeId node) const { return at(node).count; }
  /// Whether `block` keeps its node alive: it is of a group without a window.
  bool keeps_node(BlockId block) const { return group(owner(block).group).window == 0; }
  std::int32_t size() const { return size_; }
  std::int64_t pins() const;

  /// Walks everything: each node is reachable through its lists, counts agree, blocks and nodes
  /// name each other, nobody outlived its use. kInternal says what is broken. O(nodes).
  Status check_integrity() const;

 private:
  struct Node {
    std::uint64_t hash = 0;       ///< of the whole prefix
    std::uint64_t head_hash = 0;  ///< of parent and first tokens
    std::uint64_t salt = 0;
    NodeId parent = kNoNode;
    NodeId next = kNoNode;  ///< whole rows of the same bucket
    NodeId head_next = kNoNode;
    NodeId head_previous = kNoNode;
    std::int32_t children = 0;
    std::int32_t pins = 0;
    std::int32_t count = 0;  ///< 0 = unused
    std::int32_t blocks = 0;
  };
  struct Owner {
    NodeId node = kNoNode;
    std::int32_t group = 0;
  };

  const Node& at(NodeId node) const { return nodes_[static_cast<std::size_t>(node)]; }
  Node& at(NodeId node) { return nodes_[static_cast<std::size_t>(node)]; }
  const Owner& owner(BlockId block) const { return owners_[static_cast<std::size_t>(block)]; }
  KvGroup group(std::int32_t index) const { return groups_[static_cast<std::size_t>(index)]; }
  BlockId& block_at(NodeId node, std::size_t group) {
    return blocks_[static_cast<std::size_t>(node) * groups_.size() + group];
  }
  std::span<const TokenId> tokens(NodeId node) const {
    return std::span(tokens_).subspan(static_cast<std::size_t>(node) * block_size_,
                                      static_cast<std::size_t>(at(node).count));
  }
  std::size_t bucket_of(std::uint64_t hash) const { return hash & (buckets_.size() - 1); }
  std::uint64_t hash_of(const PrefixKey& key) const;
  std::uint64_t head_hash_of(const PrefixKey& key) const;
  bool same_place(NodeId node, const PrefixKey& key) const;
  bool whole(NodeId node) const { return static_cast<std::size_t>(at(node).count) == block_size_; }
  bool useless(NodeId node) const;
  void link(NodeId node);
  void unlink(NodeId node);
  void destroy(NodeId node, std::vector<BlockId>& loose);
  Status check_node(NodeId node) const;

  std::vector<KvGroup> groups_;
  std::size_t block_size_;
  std::size_t head_tokens_;  ///< that find_part looks up by
  std::uint64_t hash_mask_;
  std::vector<Node> nodes_;
  std::vector<NodeId> unused_;
  std::vector<NodeId> buckets_;  ///< of whole rows, by hash; power of two
  std::vector<NodeId> heads_;    ///< of all nodes, by head_hash; as many
  std::vector<TokenId> tokens_;  ///< [nodes, block_size]
  std::vector<BlockId> blocks_;  ///< [nodes, groups]
  std::vector<Owner> owners_;    ///< [blocks]
  std::int32_t size_ = 0;
  std::int32_t leaves_ = 0;
};

}  // namespace kantha::cache
