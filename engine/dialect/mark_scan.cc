#include "engine/dialect/mark_scan.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace kantha::dialect {

std::optional<std::size_t> MarkScan::take(char byte, std::string& plain) {
  held_.push_back(byte);
  while (!held_.empty()) {
    const auto begins = [this](const std::string& mark) { return mark.starts_with(held_); };
    const auto found = std::ranges::find_if(marks_, begins);
    if (found != marks_.end()) {
      if (found->size() != held_.size()) return std::nullopt;
      held_.clear();
      return static_cast<std::size_t>(found - marks_.begin());
    }
    plain.push_back(held_.front());
    held_.erase(0, 1);
  }
  return std::nullopt;
}

std::string MarkScan::release() { return std::exchange(held_, {}); }

}  // namespace kantha::dialect
