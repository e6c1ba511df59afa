#include "noded/gateway/rate_bucket.h"

#include <algorithm>
#include <cmath>

namespace kantha::noded {
namespace {

constexpr double kNsPerMinute = 60e9;

}  // namespace

void RateBucket::set_rate(double per_minute, TimePoint now) {
  if (per_minute == per_minute_) return;
  const double missing = is_bound() ? per_minute_ - level(now) : 0;
  per_minute_ = per_minute;
  level_ = per_minute - missing;
  at_ = now;
}

double RateBucket::level(TimePoint now) const {
  const double minutes =
      static_cast<double>(std::max<Duration>(now - at_, Duration{}).count()) / kNsPerMinute;
  return std::min(per_minute_, level_ + minutes * per_minute_);
}

Duration RateBucket::until(double amount, TimePoint now) const {
  if (!is_bound()) return Duration{};
  const double missing = std::min(amount, per_minute_) - level(now);
  if (missing <= 0) return Duration{};
  return Duration(static_cast<std::int64_t>(std::ceil(missing / per_minute_ * kNsPerMinute)));
}

void RateBucket::take(double amount, TimePoint now) {
  if (!is_bound()) return;
  level_ = std::min(per_minute_, level(now) - amount);
  at_ = now;
}

}  // namespace kantha::noded
