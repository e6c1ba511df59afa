#include "engine/text/marked_text.h"

#include <algorithm>

#include "base/check.h"

namespace kantha::text {

void MarkedText::append(std::string_view bytes, bool from_input) {
  if (bytes.empty()) return;
  bytes_ += bytes;
  if (!runs_.empty() && runs_.back().from_input == from_input) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), from_input});
  }
}

void MarkedText::append(const MarkedText& other) { append(other, 0, other.size()); }

void MarkedText::append(const MarkedText& other, std::size_t start, std::size_t length) {
  CHECK(start <= other.size() && length <= other.size() - start);
  const std::string_view bytes = other.bytes_;
  const std::size_t end = start + length;
  auto run = std::upper_bound(other.runs_.begin(), other.runs_.end(), start,
                              [](std::size_t at, const Run& r) { return at < r.end; });
  for (std::size_t at = start; at < end; ++run) {
    const std::size_t stop = std::min(run->end, end);
    append(bytes.substr(at, stop - at), run->from_input);
    at = stop;
  }
}

MarkedText MarkedText::slice(std::size_t start, std::size_t length) const {
  CHECK(start <= size());
  MarkedText part;
  part.append(*this, start, std::min(length, size() - start));
  return part;
}

bool MarkedText::any_input() const {
  return std::any_of(runs_.begin(), runs_.end(), [](const Run& run) { return run.from_input; });
}

}  // namespace kantha::text
