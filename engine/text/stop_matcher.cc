#include "engine/text/stop_matcher.h"

#include <utility>

#include "base/check.h"

namespace kantha::text {

StopMatcher::StopMatcher(std::string stop) : stop_(std::move(stop)), fallback_(stop_.size() + 1) {
  CHECK(!stop_.empty(), "empty stop strings are refused with the request");
  std::size_t border = 0;
  for (std::size_t i = 1; i < stop_.size(); ++i) {
    while (border > 0 && stop_[i] != stop_[border]) border = fallback_[border];
    if (stop_[i] == stop_[border]) ++border;
    fallback_[i + 1] = border;
  }
}

bool StopMatcher::advance(char byte) {
  while (matched_ > 0 && stop_[matched_] != byte) matched_ = fallback_[matched_];
  if (stop_[matched_] == byte) ++matched_;
  if (matched_ < stop_.size()) return false;
  matched_ = fallback_[matched_];
  return true;
}

}  // namespace kantha::text
