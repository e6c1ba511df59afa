#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace kantha::serve {

/// How far a load has come.
struct LoadPace {
  std::int64_t percent = 0;
  std::int64_t mb_per_s = 0;      ///< 10^6 bytes, since the beginning
  std::int64_t seconds_left = 0;  ///< at that pace
};

/// When a load that takes its time shall say a word about itself: not in the first second, then
/// every second, after ten seconds every ten. Pure; one thread.
class LoadNotice {
 public:
  explicit LoadNotice(TimePoint start) : start_(start), next_(start + std::chrono::seconds(1)) {}

  /// What to say now that `done` of `total` bytes are there; nothing where it is too early, or
  /// where all are.
  std::optional<LoadPace> at(TimePoint now, std::int64_t done, std::int64_t total);

 private:
  TimePoint start_;
  TimePoint next_;
};

}  // namespace kantha::serve
