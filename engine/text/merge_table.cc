#include "engine/text/merge_table.h"

#include <bit>
#include <limits>

namespace kantha::text {
namespace {

constexpr std::uint64_t kFree = std::numeric_limits<std::uint64_t>::max();

std::uint64_t pair_key(TokenId left, TokenId right) {
  return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) |
         static_cast<std::uint32_t>(right);
}

}  // namespace

MergeTable::MergeTable(std::size_t count_max)
    : mask_(std::bit_ceil(2 * count_max + 2) - 1), keys_(mask_ + 1, kFree), merges_(mask_ + 1) {}

/// The slot that holds `key`, or the free one where it belongs. Half the slots stay free.
std::size_t MergeTable::slot_of(std::uint64_t key) const {
  std::uint64_t hash = key * 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio
  std::size_t slot = (hash ^ (hash >> 32)) & mask_;
  while (keys_[slot] != key && keys_[slot] != kFree) slot = (slot + 1) & mask_;
  return slot;
}

void MergeTable::add(TokenId left, TokenId right, Merge merge) {
  const std::uint64_t key = pair_key(left, right);
  const std::size_t slot = slot_of(key);
  if (keys_[slot] == key) return;
  keys_[slot] = key;
  merges_[slot] = merge;
}

const Merge* MergeTable::find(TokenId left, TokenId right) const {
  const std::uint64_t key = pair_key(left, right);
  const std::size_t slot = slot_of(key);
  return keys_[slot] == key ? &merges_[slot] : nullptr;
}

}  // namespace kantha::text
