#include "operator/runtime/deletion_breaker.h"

#include <algorithm>

namespace kantha::runtime {
namespace {

constexpr Duration kWindow = std::chrono::minutes(1);
constexpr std::size_t kAllowedAlways = 3;

std::size_t allowance(std::size_t fleet) { return std::max(kAllowedAlways, fleet / 10); }

}  // namespace

bool DeletionBreaker::allow(std::size_t fleet, TimePoint now) {
  drop_old(now);
  if (recent_.size() >= allowance(fleet)) {
    ++refused_count_;
    return false;
  }
  recent_.push_back(now);
  return true;
}

void DeletionBreaker::count(TimePoint now) {
  drop_old(now);
  recent_.push_back(now);
}

void DeletionBreaker::drop_old(TimePoint now) {
  while (!recent_.empty() && now - recent_.front() >= kWindow) recent_.pop_front();
}

Duration DeletionBreaker::retry_after(std::size_t fleet, TimePoint now) const {
  const std::size_t count = recent_count(now);
  const std::size_t allowed = allowance(fleet);
  if (count < allowed) return Duration::zero();
  // One may pass when all but `allowed` - 1 of the recent ones are older than the window.
  const TimePoint decisive = recent_[recent_.size() - allowed];
  return decisive + kWindow - now;
}

std::size_t DeletionBreaker::recent_count(TimePoint now) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(recent_, [&](TimePoint at) { return now - at < kWindow; }));
}

}  // namespace kantha::runtime
