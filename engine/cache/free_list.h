#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/ids.h"

/// The order in which idle blocks are reused.
namespace kantha::cache {

/// "No block": the parent of a first block, the end of a list.
inline constexpr BlockId kNoBlock = -1;

/// Doubly linked list of block ids whose links lie in two flat arrays: O(1) at both ends and in the
/// middle, no allocation after construction. One thread.
class FreeList {
 public:
  explicit FreeList(std::int32_t block_count)
      : next_(static_cast<std::size_t>(block_count), kNoBlock),
        previous_(static_cast<std::size_t>(block_count), kNoBlock),
        listed_(static_cast<std::size_t>(block_count), false) {}

  std::int32_t size() const { return size_; }
  bool contains(BlockId block) const { return listed_[index(block)]; }
  BlockId front() const { return head_; }  ///< reused first; kNoBlock when empty
  BlockId after(BlockId block) const { return next_[index(block)]; }

  void push_front(BlockId block) { link(block, kNoBlock, head_); }
  void push_back(BlockId block) { link(block, tail_, kNoBlock); }
  /// Takes `block` out, wherever it is. CHECKs that it is listed.
  void remove(BlockId block);

 private:
  static std::size_t index(BlockId block) { return static_cast<std::size_t>(block); }
  void link(BlockId block, BlockId before, BlockId behind);

  std::vector<BlockId> next_;
  std::vector<BlockId> previous_;
  std::vector<bool> listed_;
  BlockId head_ = kNoBlock;
  BlockId tail_ = kNoBlock;
  std::int32_t size_ = 0;
};

}  // namespace kantha::cache
