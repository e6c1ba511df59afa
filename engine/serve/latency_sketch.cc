#include "engine/serve/latency_sketch.h"

#include <algorithm>
#include <cmath>

namespace kantha::serve {
namespace {

constexpr double kFirst = 50e-6;
constexpr double kGrowth = 1.1;

std::int64_t window_number(TimePoint now) {
  constexpr std::int64_t kWindowSeconds = 30;
  return std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count() /
         kWindowSeconds;
}

std::size_t bucket_of(double seconds, std::size_t count) {
  if (!(seconds > kFirst)) return 0;
  const double place = std::ceil(std::log(seconds / kFirst) / std::log(kGrowth));
  return std::min(static_cast<std::size_t>(place), count - 1);
}

}  // namespace

void LatencySketch::observe(double seconds, TimePoint now) {
  const std::int64_t number = window_number(now);
  Window& window = windows_[static_cast<std::size_t>(number % 2)];
  if (window.number != number) window = {.number = number};
  ++window.counts[bucket_of(seconds, kBuckets)];
  ++window.total;
}

bool LatencySketch::is_recent(const Window& window, TimePoint now) const {
  return window.number >= 0 && window.number + 1 >= window_number(now);
}

std::int64_t LatencySketch::count(TimePoint now) const {
  std::int64_t total = 0;
  for (const Window& window : windows_) total += is_recent(window, now) ? window.total : 0;
  return total;
}

double LatencySketch::quantile(double q, TimePoint now) const {
  const auto wanted = static_cast<std::int64_t>(std::ceil(q * static_cast<double>(count(now))));
  if (wanted == 0) return 0;
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    for (const Window& window : windows_) seen += is_recent(window, now) ? window.counts[i] : 0;
    if (seen >= wanted) return kFirst * std::pow(kGrowth, static_cast<double>(i));
  }
  return kFirst * std::pow(kGrowth, static_cast<double>(kBuckets - 1));
}

}  // namespace kantha::serve
