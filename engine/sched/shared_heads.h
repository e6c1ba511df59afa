#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "base/ids.h"

/// Which heads of prompts are being computed right now.
namespace kantha::sched {

struct Sequence;

/// A running prefill whose prompt begins like another's.
struct SharedHead {
  Sequence* leader = nullptr;
  std::int32_t tokens = 0;  ///< equal ones, in whole blocks
};

/// Running prefills by their first block. A lookup compares tokens with at most kCompared of those
/// that share it. One thread.
class SharedHeads {
 public:
  explicit SharedHeads(std::int32_t block_size) : block_size_(block_size) {}

  /// A prefill that starts; one without a whole block is not remembered. It stays until erase, and
  /// the tokens it has now do not change.
  void insert(Sequence& sequence);
  void erase(Sequence& sequence);

  /// The leader worth waiting for: it computes at least a block of what `sequence` misses beyond
  /// its `known` tokens, and at least 32 tokens or half of it; its salt is the same and its
  /// priority no worse.
  std::optional<SharedHead> find(const Sequence& sequence, std::int32_t known) const;
  static constexpr std::int32_t kWorthTokens = 32;
  static constexpr int kCompared = 8;

  std::size_t size() const { return prefills_.size(); }

 private:
  std::uint64_t key_of(const Sequence& sequence) const;
  std::int32_t equal_tokens(const Sequence& a, const Sequence& b) const;

  std::int32_t block_size_;
  std::unordered_multimap<std::uint64_t, Sequence*> prefills_;
};

}  // namespace kantha::sched
