#include "engine/cache/sequence_blocks.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kantha::cache {

SequenceBlocks::SequenceBlocks(KvCache& cache) : cache_(&cache) {
  tables_.reserve(cache.options().groups.size());
  for (std::int32_t g = 0; g < cache.group_count(); ++g) tables_.emplace_back(cache.pool());
}

SequenceBlocks::SequenceBlocks(SequenceBlocks&& other) noexcept : SequenceBlocks(*other.cache_) {
  std::swap(tables_, other.tables_);
  filled_ = std::exchange(other.filled_, 0);
  published_rows_ = std::exchange(other.published_rows_, 0);
  node_ = std::exchange(other.node_, kNoNode);
  unpublished_ = std::exchange(other.unpublished_, false);
}

std::int32_t SequenceBlocks::rows_of(std::int32_t tokens) const {
  return (tokens + cache_->block_size() - 1) / cache_->block_size();
}

std::int32_t SequenceBlocks::held() const {
  std::int32_t held = 0;
  for (const BlockTable& table : tables_) held += table.held();
  return held;
}

std::int32_t SequenceBlocks::slot(std::int32_t group, std::int32_t position) const {
  const std::int32_t block_size = cache_->block_size();
  const std::int32_t row = position / block_size;
  CHECK(position >= 0 && row < rows(), "the position has a row");
  CHECK(row >= table(group).first_held(), "the position is in the window");
  return block(group, row) * block_size + position % block_size;
}

std::int32_t SequenceBlocks::blocks_to_write(std::int32_t first, std::int32_t end) const {
  return blocks_for_rows(first / cache_->block_size(), rows_of(end));
}

std::int32_t SequenceBlocks::blocks_for_rows(std::int32_t first_row, std::int32_t end_row) const {
  std::int32_t needed = 0;
  for (const BlockTable& table : tables_) needed += table.blocks_to_write(first_row, end_row);
  return needed;
}

bool SequenceBlocks::prepare_write(std::int32_t first, std::int32_t end,
                                   std::vector<BlockCopy>& copies) {
  CHECK(first >= 0 && first < end, "a write has tokens");
  const std::int32_t block_size = cache_->block_size();
  const std::int32_t first_row = first / block_size;
  const std::int32_t end_row = rows_of(end);
  if (blocks_for_rows(first_row, end_row) > cache_->idle()) return false;
  for (BlockTable& table : tables_) {
    for (std::int32_t row = first_row; row < std::min(end_row, table.size()); ++row) {
      const std::int32_t kept = std::clamp(first - row * block_size, 0, block_size);
      table.make_writable(row, kept, copies);
    }
    while (table.size() < end_row) table.grow();
  }
  return true;
}

void SequenceBlocks::adopt(const PrefixHit& hit, std::vector<BlockCopy>& copies) {
  BlockPool& pool = cache_->pool();
  const PrefixTree& tree = pool.tree();
  for (std::size_t g = 0; g < tables_.size(); ++g) {
    const KvGroup group = cache_->options().groups[g];
    const std::int32_t seen = first_row_seen(group, hit.tokens, cache_->block_size());
    const std::int32_t first = std::min(seen, hit.rows);
    tables_[g].start(first, hit.rows);
    NodeId node = hit.node;
    for (std::int32_t row = hit.rows; row-- > first; node = tree.parent(node)) {
      tables_[g].put(row, pool.adopt(tree.block(node, static_cast<std::int32_t>(g))));
    }
  }
  filled_ = hit.tokens;
  published_rows_ = hit.rows;
  move_pin(hit.node);
  if (hit.partial == kNoNode) return;
  std::array<BlockId, kGroupsMax> sources{};
  for (std::int32_t g = 0; g < cache_->group_count(); ++g) {
    sources[static_cast<std::size_t>(g)] = tree.block(hit.partial, g);
  }
  // Every group's source keeps its content as long as there is anything else to take.
  for (std::size_t g = 0; g < tables_.size(); ++g) pool.touch(sources[g]);
  for (std::size_t g = 0; g < tables_.size(); ++g) {
    BlockRef fresh = *pool.take();
    pool.filled(fresh, hit.tokens - hit.rows * cache_->block_size());
    if (fresh.id() != sources[g]) copies.push_back({.from = sources[g], .to = fresh.id()});
    tables_[g].add(std::move(fresh));
  }
}

bool SequenceBlocks::can_share(std::int32_t tokens) const {
  if (tokens > filled_) return false;
  for (std::size_t g = 0; g < tables_.size(); ++g) {
    const KvGroup group = cache_->options().groups[g];
    const std::int32_t first = first_row_seen(group, tokens, cache_->block_size());
    if (std::min(first, rows_of(tokens)) < tables_[g].first_held()) return false;
  }
  return true;
}

void SequenceBlocks::share(const SequenceBlocks& other, std::int32_t tokens) {
  CHECK(other.can_share(tokens), "the other one has what these tokens need");
  for (std::size_t g = 0; g < tables_.size(); ++g) {
    const KvGroup group = cache_->options().groups[g];
    const std::int32_t first = first_row_seen(group, tokens, cache_->block_size());
    tables_[g].share(other.tables_[g], std::min(first, rows_of(tokens)), rows_of(tokens));
  }
  filled_ = tokens;
  published_rows_ = std::min(other.published_rows_, tokens / cache_->block_size());
  unpublished_ = other.unpublished_;
  NodeId node = other.node_;
  for (std::int32_t row = other.published_rows_; row > published_rows_; --row) {
    node = cache_->pool().tree().parent(node);
  }
  move_pin(node);
}

void SequenceBlocks::move_pin(NodeId node) {
  BlockPool& pool = cache_->pool();
  if (node != kNoNode) pool.pin(node);
  if (node_ != kNoNode) pool.unpin(node_);
  node_ = node;
}

void SequenceBlocks::count_filled(std::int32_t tokens) {
  const std::int32_t block_size = cache_->block_size();
  const std::int32_t first_row = filled_ / block_size;
  for (std::int32_t row = first_row; row * block_size < tokens; ++row) {
    const std::int32_t here = std::min(block_size, tokens - row * block_size);
    for (const BlockTable& table : tables_) cache_->pool().filled(table.ref(row), here);
  }
  filled_ = tokens;
}

void SequenceBlocks::publish(std::span<const TokenId> computed, std::uint64_t salt) {
  const auto tokens = static_cast<std::int32_t>(computed.size());
  const std::int32_t block_size = cache_->block_size();
  CHECK(tokens >= filled_ && tokens <= rows() * block_size, "a longer head, with blocks");
  count_filled(tokens);
  const auto size = static_cast<std::size_t>(block_size);
  while (cache_->options().prefix_caching && !unpublished_ &&
         (published_rows_ + 1) * block_size <= tokens) {
    publish_row(computed.subspan(static_cast<std::size_t>(published_rows_) * size, size), salt);
  }
  if (cache_->windowed()) leave_windows(tokens);
}

void SequenceBlocks::leave_windows(std::int32_t tokens) {
  for (std::size_t g = 0; g < tables_.size(); ++g) {
    const KvGroup group = cache_->options().groups[g];
    // As if the last token were still to be computed: a fork of the prompt computes it again.
    tables_[g].drop_before(first_row_seen(group, tokens - 1, cache_->block_size()));
  }
}

void SequenceBlocks::publish_row(std::span<const TokenId> row, std::uint64_t salt) {
  BlockPool& pool = cache_->pool();
  const NodeId node = pool.node_for({.parent = node_, .salt = salt, .tokens = row});
  if (node == kNoNode) {
    unpublished_ = true;
    return;
  }
  for (std::int32_t g = 0; g < cache_->group_count(); ++g) {
    BlockTable& table = tables_[static_cast<std::size_t>(g)];
    const BlockId known = pool.tree().block(node, g);
    if (known == kNoBlock) {
      pool.attach(node, g, table.ref(published_rows_));
    } else if (known != table.block(published_rows_)) {
      table.put(published_rows_, pool.adopt(known));
    }
  }
  ++published_rows_;
  move_pin(node);
}

void SequenceBlocks::publish_tail(std::span<const TokenId> tail, std::uint64_t salt) {
  if (std::ssize(tail) < part_tokens_min(cache_->block_size())) return;
  std::array<const BlockRef*, kGroupsMax> held{};
  for (std::size_t g = 0; g < tables_.size(); ++g) {
    held[g] = &tables_[g].ref(published_rows_);
    // Another holder goes on writing there, or has made a leaf of it.
    if (!cache_->pool().writable(*held[g])) return;
  }
  cache_->pool().attach_leaf({.parent = node_, .salt = salt, .tokens = tail},
                             std::span(held).first(tables_.size()));
}

void SequenceBlocks::clear(std::span<const TokenId> computed, std::uint64_t salt) {
  CHECK(std::ssize(computed) == filled_, "what was published last");
  const auto whole =
      static_cast<std::size_t>(published_rows_) * static_cast<std::size_t>(cache_->block_size());
  const std::span<const TokenId> tail = computed.subspan(whole);
  if (cache_->options().prefix_caching && std::ssize(tail) < cache_->block_size()) {
    publish_tail(tail, salt);
  }
  clear();
}

void SequenceBlocks::clear() {
  for (std::int32_t row = rows(); row-- > 0;) {
    for (BlockTable& table : tables_) table.pop();
  }
  filled_ = 0;
  published_rows_ = 0;
  unpublished_ = false;
  move_pin(kNoNode);
}

}  // namespace kantha::cache
