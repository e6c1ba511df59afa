#include "engine/cache/free_list.h"

namespace kantha::cache {

void FreeList::link(BlockId block, BlockId before, BlockId behind) {
  CHECK(!listed_[index(block)], "a block is listed once");
  listed_[index(block)] = true;
  previous_[index(block)] = before;
  next_[index(block)] = behind;
  (before == kNoBlock ? head_ : next_[index(before)]) = block;
  (behind == kNoBlock ? tail_ : previous_[index(behind)]) = block;
  ++size_;
}

void FreeList::remove(BlockId block) {
  CHECK(listed_[index(block)], "the block is listed");
  const BlockId before = previous_[index(block)];
  const BlockId behind = next_[index(block)];
  (before == kNoBlock ? head_ : next_[index(before)]) = behind;
  (behind == kNoBlock ? tail_ : previous_[index(behind)]) = before;
  listed_[index(block)] = false;
  --size_;
}

}  // namespace kantha::cache
