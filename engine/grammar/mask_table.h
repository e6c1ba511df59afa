#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"

namespace kantha::grammar {

/// What can be said of the tokens at one state of one rule, whoever called the rule.
struct LocalMask {
  /// Tokens that the rule, and those that it calls, can take whole: as bits where they are many
  /// [(vocabulary + 63) / 64], else as a list.
  std::vector<std::uint64_t> bits = {};
  std::vector<TokenId> few = {};
  /// Places in the lexicon where the rule may be over with tokens going on: the rest of those is up
  /// to its caller.
  std::vector<std::uint32_t> exits = {};

  std::size_t memory_bytes() const {
    return sizeof(LocalMask) + bits.capacity() * sizeof(bits[0]) + few.capacity() * sizeof(few[0]) +
           exits.capacity() * sizeof(exits[0]);
  }
};

/// Local masks by state, made when they are first needed. Any thread, without locks: two that make
/// the same one at the same time make equal ones, and one of them stays.
class MaskTable {
 public:
  /// Room for so many masks as bits; beyond that masks are made again each time.
  static constexpr std::size_t kMasksMax = 1024;

  MaskTable() = default;
  MaskTable(const MaskTable&) = delete;
  MaskTable& operator=(const MaskTable&) = delete;
  ~MaskTable();

  /// Once, before it is shared. `words`: of a mask as bits.
  void resize(std::size_t states, std::size_t words);
  const LocalMask* find(std::size_t state) const {
    return slots_[state].load(std::memory_order_acquire);
  }
  /// Keeps a mask and gives the one that is kept; null when there is no room.
  const LocalMask* keep(std::size_t state, std::unique_ptr<const LocalMask> mask);
  std::size_t memory_bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  std::unique_ptr<std::atomic<const LocalMask*>[]> slots_;
  std::size_t count_ = 0;
  std::size_t bytes_max_ = 0;
  std::atomic<std::size_t> bytes_ = 0;
};

}  // namespace kantha::grammar
