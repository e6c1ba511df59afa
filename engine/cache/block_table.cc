#include "engine/cache/block_table.h"

#include <algorithm>
#include <utility>

namespace kantha::cache {

BlockTable& BlockTable::operator=(BlockTable&& other) noexcept {
  if (this != &other) {
    clear();
    pool_ = other.pool_;
    blocks_ = std::move(other.blocks_);
    other.blocks_.clear();
  }
  return *this;
}

std::int32_t BlockTable::slot(std::int32_t position) const {
  const std::int32_t block_size = pool_->block_size();
  CHECK(position >= 0 && position < size() * block_size, "the position has a block");
  return block(position / block_size) * block_size + position % block_size;
}

std::int32_t BlockTable::blocks_to_write(std::int32_t first, std::int32_t end) const {
  const std::int32_t block_size = pool_->block_size();
  const std::int32_t end_block = (end + block_size - 1) / block_size;
  std::int32_t needed = std::max(0, end_block - size());
  for (std::int32_t i = first / block_size; i < std::min(end_block, size()); ++i) {
    if (!pool_->writable(blocks_[static_cast<std::size_t>(i)])) ++needed;
  }
  return needed;
}

bool BlockTable::prepare_write(std::int32_t first, std::int32_t end,
                               std::vector<BlockCopy>& copies) {
  CHECK(first >= 0 && first < end, "a write has tokens");
  if (blocks_to_write(first, end) > pool_->idle()) return false;
  const std::int32_t block_size = pool_->block_size();
  const std::int32_t end_block = (end + block_size - 1) / block_size;
  for (std::int32_t i = first / block_size; i < std::min(end_block, size()); ++i) {
    BlockRef& held = blocks_[static_cast<std::size_t>(i)];
    if (pool_->writable(held)) continue;
    BlockRef fresh = *pool_->take();
    copies.push_back({.from = held.id(), .to = fresh.id()});
    held = std::move(fresh);
  }
  while (size() < end_block) blocks_.push_back(*pool_->take());
  return true;
}

BlockTable BlockTable::fork_head(std::int32_t count) const {
  CHECK(count >= 0 && count <= size(), "the head of this table");
  BlockTable copy(*pool_);
  copy.blocks_.reserve(blocks_.size());
  for (std::int32_t i = 0; i < count; ++i) {
    copy.blocks_.push_back(pool_->share(blocks_[static_cast<std::size_t>(i)]));
  }
  return copy;
}

void BlockTable::publish(std::span<const TokenId> tokens, std::int32_t first_block,
                         std::uint64_t salt) {
  const auto block_size = static_cast<std::size_t>(pool_->block_size());
  CHECK(tokens.size() <= blocks_.size() * block_size, "tokens lie in the table's blocks");
  for (auto i = static_cast<std::size_t>(first_block); (i + 1) * block_size <= tokens.size(); ++i) {
    const PrefixKey key{.parent = i == 0 ? kNoBlock : blocks_[i - 1].id(),
                        .salt = salt,
                        .tokens = tokens.subspan(i * block_size, block_size)};
    const std::optional<BlockId> equal = pool_->prefixes().find(key);
    if (!equal) {
      pool_->publish(blocks_[i], key);
    } else if (*equal != blocks_[i].id()) {
      blocks_[i] = pool_->adopt(*equal);
    }
  }
}

void BlockTable::clear() {
  while (!blocks_.empty()) blocks_.pop_back();
}

}  // namespace kantha::cache
