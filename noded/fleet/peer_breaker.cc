#include "noded/fleet/peer_breaker.h"

#include <algorithm>

namespace kantha::noded {

void PeerBreaker::succeeded() {
  closed_ = true;
  failures_ = 0;
  hold_ = policy_.hold_first;
}

bool PeerBreaker::failed(TimePoint now) {
  failures_ += 1;
  if (closed_ && failures_ < policy_.failures_in_a_row) return false;
  const bool opens = closed_;
  trip(now);
  return opens;
}

void PeerBreaker::trip(TimePoint now) {
  closed_ = false;
  hold_until_ = now + hold_;
  hold_ = std::min(2 * hold_, policy_.hold_max);
}

}  // namespace kantha::noded
