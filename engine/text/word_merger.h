#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "engine/text/merge_table.h"

/// Byte-pair merging of one word.
namespace kantha::text {

/// Applies the merges of a table to one word at a time, always the lowest rank and, among equals,
/// the leftmost pair: the definition of the published tokenizers, in O(n log n) for a word of n
/// symbols by a heap over a linked list. Keeps its memory between words; one thread.
class WordMerger {
 public:
  explicit WordMerger(const MergeTable& table) : table_(table) {}
  /// Merges `symbols` and appends what is left to `out`.
  void merge(const std::vector<TokenId>& symbols, std::vector<TokenId>& out);

 private:
  struct Symbol {
    TokenId id;
    std::int32_t previous;  ///< -1: none
    std::int32_t next;      ///< -1: none
    std::int32_t rank;      ///< of the merge with the next symbol; -1: none, or this one is gone
  };
  struct Candidate {
    std::int32_t rank;
    std::int32_t left;
  };

  bool look_up(std::int32_t left);
  void consider(std::int32_t left);
  void join(std::int32_t left);

  const MergeTable& table_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace kantha::text
