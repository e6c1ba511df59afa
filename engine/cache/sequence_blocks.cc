#include "engine/cache/sequence_blocks.h"

namespace kantha::cache {

BlockId SequenceBlocks::block(std::int32_t group, std::int32_t row) const {
  CHECK(group == 0, "the only group");
  return table_.block(row);
}

std::int32_t SequenceBlocks::slot(std::int32_t group, std::int32_t position) const {
  CHECK(group == 0, "the only group");
  return table_.slot(position);
}

void SequenceBlocks::adopt(const PrefixHit& hit, std::vector<BlockCopy>& copies) {
  CHECK(table_.size() == 0, "adopted while empty");
  for (const BlockId block : hit.blocks) table_.adopt(block);
  published_rows_ = table_.size();
  if (hit.partial == kNoBlock) return;
  table_.adopt(hit.partial);
  CHECK(table_.prepare_write(hit.tokens, hit.tokens + 1, copies), "the hit counted the copy");
}

void SequenceBlocks::share(const SequenceBlocks& other, std::int32_t tokens) {
  CHECK(table_.size() == 0, "shared while empty");
  table_ = other.table_.fork_head((tokens + cache_->block_size() - 1) / cache_->block_size());
  published_rows_ = tokens / cache_->block_size();
}

void SequenceBlocks::publish(std::span<const TokenId> computed, std::uint64_t salt) {
  const std::int32_t full = static_cast<std::int32_t>(computed.size()) / cache_->block_size();
  if (!cache_->options().prefix_caching || full <= published_rows_) return;
  table_.publish(computed, published_rows_, salt);
  published_rows_ = full;
}

void SequenceBlocks::clear() {
  table_.clear();
  published_rows_ = 0;
}

}  // namespace kantha::cache
