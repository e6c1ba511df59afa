#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/net/task.h"

/// A token bucket on our own calls, so that one operator cannot crowd an API server.
/// One executor; time through Clock.
namespace kantha::kube {

/// The bucket's arithmetic: tokens are taken ahead of time, so that who comes first goes first, and
/// none accrue in a pause. Pure.
class TokenBucket {
 public:
  TokenBucket(double per_second, double burst) : rate_(per_second), burst_(burst), level_(burst) {}
  /// Takes one token that is or will be there; how long to wait for it, 0 when at once.
  Duration take(TimePoint now);
  /// Takes one token that is there now, or none.
  bool try_take(TimePoint now);
  /// Nothing passes before `until`: the server said Retry-After.
  void pause(TimePoint now, TimePoint until);
  /// How long a pause still lasts, for those who took their token before it began.
  Duration pause_left(TimePoint now) const;

 private:
  void refill(TimePoint now);

  double rate_;
  double burst_;
  double level_;
  TimePoint updated_{};
  TimePoint paused_until_{};
};

class RateLimiter {
 public:
  /// `per_second` 0 means no limit.
  RateLimiter(const Clock& clock, double per_second, double burst);
  /// Suspends until the next call may be made; first come, first served. How long that took.
  net::Task<Duration> acquire();
  void pause(Duration duration);
  const Clock& clock() const { return clock_; }

 private:
  const Clock& clock_;
  bool unlimited_;
  TokenBucket bucket_;
};

}  // namespace kantha::kube
