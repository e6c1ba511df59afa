#include "operator/local/restart_backoff.h"

#include <algorithm>
#include <array>

namespace kantha::local {
namespace {

using namespace std::chrono_literals;

constexpr std::array<Duration, 7> kDelays = {200ms, 500ms, 1s, 2s, 4s, 8s, 10s};
constexpr Duration kHealthyRun = 60s;

}  // namespace

void RestartBackoff::started(TimePoint) { healthy_since_.reset(); }

void RestartBackoff::healthy(TimePoint now) {
  if (!healthy_since_) healthy_since_ = now;
  if (now - *healthy_since_ >= kHealthyRun) failures_ = 0;
}

void RestartBackoff::ended(TimePoint now) {
  healthy_since_.reset();
  const auto step = std::min<std::size_t>(static_cast<std::size_t>(failures_), kDelays.size() - 1);
  start_at_ = now + kDelays[step];
  ++failures_;
}

}  // namespace kantha::local
