#include "engine/text/word_merger.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace kantha::text {
namespace {

struct Later {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  }
};

}  // namespace

/// Finds the merge of `left` with its neighbour.
bool WordMerger::look_up(std::int32_t left) {
  Symbol& symbol = symbols_[left];
  symbol.rank = -1;
  if (symbol.next < 0) return false;
  const Merge* merge = table_.find(symbol.id, symbols_[symbol.next].id);
  if (merge == nullptr) return false;
  symbol.rank = merge->rank;
  return true;
}

/// Looks it up and queues it.
void WordMerger::consider(std::int32_t left) {
  if (left < 0 || !look_up(left)) return;
  heap_.push_back({symbols_[left].rank, left});
  std::push_heap(heap_.begin(), heap_.end(), Later{});
}

void WordMerger::join(std::int32_t left) {
  Symbol& symbol = symbols_[left];
  Symbol& gone = symbols_[symbol.next];
  symbol.id = table_.find(symbol.id, gone.id)->result;
  symbol.next = gone.next;
  gone.rank = -1;
  if (symbol.next >= 0) symbols_[symbol.next].previous = left;
  consider(left);
  consider(symbol.previous);
}

void WordMerger::merge(const std::vector<TokenId>& symbols, std::vector<TokenId>& out) {
  CHECK(symbols.size() < std::numeric_limits<std::int32_t>::max());
  if (symbols.empty()) return;
  const auto count = static_cast<std::int32_t>(symbols.size());
  symbols_.clear();
  symbols_.reserve(symbols.size());
  heap_.clear();
  for (std::int32_t i = 0; i < count; ++i) {
    symbols_.push_back({symbols[i], i - 1, i + 1 < count ? i + 1 : -1, -1});
  }
  for (std::int32_t i = 0; i < count; ++i) {
    if (look_up(i)) heap_.push_back({symbols_[i].rank, i});
  }
  std::make_heap(heap_.begin(), heap_.end(), Later{});
  while (!heap_.empty()) {
    const Candidate best = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    heap_.pop_back();
    // A queued pair whose symbols have changed since has another rank now.
    if (symbols_[best.left].rank == best.rank) join(best.left);
  }
  for (std::int32_t i = 0; i >= 0; i = symbols_[i].next) out.push_back(symbols_[i].id);
}

}  // namespace kantha::text
