#pragma once

#include <optional>

#include "base/clock.h"

/// When a process that ended may start again. A pure state machine; any thread.
namespace kantha::local {

/// Waits 0.2, 0.5, 1, 2, 4, 8, then always 10 seconds; a run of a minute in good health starts the
/// row anew.
class RestartBackoff {
 public:
  /// The process started.
  void started(TimePoint now);
  /// The process answers and is well; may be called as often as one likes.
  void healthy(TimePoint now);
  /// The process is not well; a minute of health has to begin again.
  void unhealthy() { healthy_since_.reset(); }
  /// The process ended; sets start_at.
  void ended(TimePoint now);

  /// When the next start is due; only while ended.
  TimePoint start_at() const { return start_at_; }
  /// Ends since the row began.
  int failures() const { return failures_; }

 private:
  std::optional<TimePoint> healthy_since_;
  TimePoint start_at_{};
  int failures_ = 0;
};

}  // namespace kantha::local
