#pragma once

#include <cstdint>

#include "base/clock.h"

/// Whether a peer may be sent to, by how its last exchanges went. Plain data; one thread.
///
/// closed → (failures in a row) → open → (the hold passes) half open: one question, no request of a
/// user → answered: closed; not answered: open again for twice as long.
namespace kantha::noded {

struct BreakerPolicy {
  int failures_in_a_row = 3;
  Duration hold_first = std::chrono::seconds(1);  ///< doubles each time, up to hold_max
  Duration hold_max = std::chrono::seconds(30);
};

class PeerBreaker {
 public:
  explicit PeerBreaker(BreakerPolicy policy = {}) : policy_(policy), hold_(policy.hold_first) {}

  bool is_closed() const { return closed_; }
  /// Half open: it may be asked again, by something that is no user's request.
  bool may_ask(TimePoint now) const { return closed_ || now >= hold_until_; }
  void succeeded();
  /// True when it opened by this.
  bool failed(TimePoint now);
  /// Opens at once: what it answered shows that it is not who it should be.
  void trip(TimePoint now);

 private:
  BreakerPolicy policy_;
  bool closed_ = true;
  int failures_ = 0;
  Duration hold_;
  TimePoint hold_until_{};
};

}  // namespace kantha::noded
