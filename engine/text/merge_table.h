#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"

/// Which two neighbouring tokens become one, and how early.
namespace kantha::text {

struct Merge {
  std::int32_t rank = 0;  ///< lower merges first
  TokenId result = 0;
};

/// A fixed-size open-addressing hash table from (left, right) to Merge: looked up for every byte of
/// every prompt, so it is two flat arrays and no pointers. Reads: any thread.
class MergeTable {
 public:
  /// Room for `count_max` entries.
  explicit MergeTable(std::size_t count_max);
  /// The first merge of a pair counts, as the file lists the best first.
  void add(TokenId left, TokenId right, Merge merge);
  const Merge* find(TokenId left, TokenId right) const;

 private:
  std::size_t slot_of(std::uint64_t key) const;

  std::size_t mask_;
  std::vector<std::uint64_t> keys_;
  std::vector<Merge> merges_;
};

}  // namespace kantha::text
