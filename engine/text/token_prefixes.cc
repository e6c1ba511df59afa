#include "engine/text/token_prefixes.h"

#include <algorithm>

namespace kantha::text {

void TokenPrefixes::sort() {
  std::ranges::sort(tokens_);
  const auto same = [](const auto& left, const auto& right) { return left.first == right.first; };
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end(), same), tokens_.end());
}

bool TokenPrefixes::Walk::step(char byte) {
  const auto wanted = static_cast<unsigned char>(byte);
  const auto byte_of = [this](const auto& token) {
    // What ends before this byte sorts before all that have one.
    return token.first.size() <= depth_
               ? -1
               : static_cast<int>(static_cast<unsigned char>(token.first[depth_]));
  };
  const auto begin = tokens_.begin() + static_cast<std::ptrdiff_t>(low_);
  const auto end = tokens_.begin() + static_cast<std::ptrdiff_t>(high_);
  const auto found = std::ranges::equal_range(begin, end, static_cast<int>(wanted), {}, byte_of);
  low_ = static_cast<std::size_t>(found.begin() - tokens_.begin());
  high_ = static_cast<std::size_t>(found.end() - tokens_.begin());
  ++depth_;
  return low_ < high_;
}

TokenId TokenPrefixes::Walk::token() const {
  // The shortest of the range comes first.
  return low_ < high_ && tokens_[low_].first.size() == depth_ ? tokens_[low_].second : -1;
}

}  // namespace kantha::text
