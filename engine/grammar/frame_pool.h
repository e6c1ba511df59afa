#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/grammar/nfa.h"

namespace kantha::grammar {

using FrameId = std::uint32_t;

/// A place in a grammar: a state, and what goes on when its rule is over.
struct Item {
  StateId state = 0;
  FrameId frame = 0;

  bool operator==(const Item&) const = default;
};

/// What goes on after a rule: the places that called it, each with a frame of its own. Frames are
/// never changed once the byte that opened them is done, so that all readings of an answer share
/// them (a graph-structured stack). One thread.
class FramePool {
 public:
  static constexpr FrameId kRoot = 0;     ///< of the grammar's first rule: nothing goes on
  static constexpr FrameId kUnknown = 1;  ///< of a rule that is looked at without its caller

  struct Return {
    Item item = {};  ///< where a caller goes on
    std::uint32_t next = 0;
  };
  static constexpr std::uint32_t kEnd = ~std::uint32_t{0};

  /// Sizes to go back to.
  struct Mark {
    std::size_t frames = 2;
    std::size_t returns = 0;
  };

  FramePool() : first_(2, kEnd) {}

  FrameId open() {
    first_.push_back(kEnd);
    return static_cast<FrameId>(first_.size() - 1);
  }
  void add_return(FrameId frame, Item item) {
    returns_.push_back({item, first_[frame]});
    first_[frame] = static_cast<std::uint32_t>(returns_.size() - 1);
  }
  template <class Visit>
  void for_each_return(FrameId frame, Visit visit) const {
    for (std::uint32_t at = first_[frame]; at != kEnd; at = returns_[at].next) {
      // By value: the visit may open frames.
      visit(Item(returns_[at].item));
    }
  }
  Mark mark() const { return {first_.size(), returns_.size()}; }
  /// Forgets what was opened after the mark; returns of older frames were not added since.
  void cut(Mark mark) {
    first_.resize(mark.frames);
    returns_.resize(mark.returns);
  }
  std::size_t size() const { return first_.size() + returns_.size(); }
  /// Drops frames that these items do not reach, and renumbers those that they do.
  void collect(std::vector<Item>& items);

 private:
  std::vector<std::uint32_t> first_;  ///< [frames] of its returns
  std::vector<Return> returns_;
};

}  // namespace kantha::grammar
