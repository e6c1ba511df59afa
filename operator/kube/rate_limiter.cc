#include "operator/kube/rate_limiter.h"

#include <algorithm>

#include "base/net/task_group.h"

namespace kantha::kube {
namespace {

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

Duration duration_of(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

void TokenBucket::refill(TimePoint now) {
  const TimePoint from = std::max(updated_, paused_until_);
  if (now <= from) return;
  level_ = std::min(burst_, level_ + seconds_of(now - from) * rate_);
  updated_ = now;
}

Duration TokenBucket::take(TimePoint now) {
  refill(now);
  level_ -= 1;
  const Duration deficit = level_ >= 0 ? Duration::zero() : duration_of(-level_ / rate_);
  return pause_left(now) + deficit;
}

bool TokenBucket::try_take(TimePoint now) {
  refill(now);
  if (level_ < 1 || pause_left(now) > Duration::zero()) return false;
  level_ -= 1;
  return true;
}

void TokenBucket::pause(TimePoint now, TimePoint until) {
  refill(now);
  paused_until_ = std::max(paused_until_, until);
}

Duration TokenBucket::pause_left(TimePoint now) const {
  return std::max(Duration::zero(), paused_until_ - now);
}

RateLimiter::RateLimiter(const Clock& clock, double per_second, double burst)
    : clock_(clock), unlimited_(per_second <= 0), bucket_(std::max(per_second, 1e-3), burst) {}

net::Task<Duration> RateLimiter::acquire() {
  const TimePoint begun = clock_.now();
  Duration left = unlimited_ ? Duration::zero() : bucket_.take(begun);
  // A pause may begin while we wait.
  while (left = std::max(left, bucket_.pause_left(clock_.now())), left > Duration::zero()) {
    co_await net::sleep_for(left);
    left = Duration::zero();
  }
  co_return clock_.now() - begun;
}

void RateLimiter::pause(Duration duration) {
  const TimePoint now = clock_.now();
  bucket_.pause(now, now + duration);
}

}  // namespace kantha::kube
