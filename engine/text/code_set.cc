#include "engine/text/code_set.h"

#include <algorithm>

namespace kantha::text {

CodeSet::CodeSet(std::initializer_list<CodeRange> ranges)
    : CodeSet(std::span(ranges.begin(), ranges.size())) {}

CodeSet::CodeSet(std::span<const CodeRange> ranges) {
  for (const CodeRange& range : ranges) add(range.first, range.last);
}

void CodeSet::add(char32_t first, char32_t last) {
  // The first range that touches or follows.
  const auto at = std::ranges::lower_bound(ranges_, first, {},
                                           [](const CodeRange& range) { return range.last + 1; });
  auto end = at;
  while (end != ranges_.end() && end->first <= last + 1) {
    first = std::min(first, end->first);
    last = std::max(last, end->last);
    ++end;
  }
  ranges_.insert(ranges_.erase(at, end), {first, last});
}

void CodeSet::add(const CodeSet& other) {
  for (const CodeRange& range : other.ranges_) add(range.first, range.last);
}

CodeSet CodeSet::inverted() const {
  CodeSet out;
  char32_t next = 0;
  for (const CodeRange& range : ranges_) {
    if (range.first > next) out.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kBadSign) out.ranges_.push_back({next, kBadSign});
  return out;
}

CodeSet CodeSet::common_with(const CodeSet& other) const { return without(other.inverted()); }

CodeSet CodeSet::without(const CodeSet& other) const {
  // A minus B is what is neither outside A nor in B.
  CodeSet left_out = inverted();
  left_out.add(other);
  return left_out.inverted();
}

bool CodeSet::contains(char32_t code) const {
  const auto at = std::ranges::lower_bound(ranges_, code, {}, &CodeRange::last);
  return at != ranges_.end() && at->first <= code;
}

}  // namespace kantha::text
