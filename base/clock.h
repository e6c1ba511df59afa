#pragma once

#include <chrono>
#include <mutex>

/// Time as an interface. std::chrono::*::now outside base/ fails the tidy test.
namespace kantha {

using Duration = std::chrono::nanoseconds;
/// Monotonic; only differences have a meaning.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;
/// Calendar time; for people and HTTP headers, never for deadlines.
using WallTime = std::chrono::system_clock::time_point;

/// Reads time. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
  virtual WallTime wall_now() const = 0;
};

/// The machine's clocks; one shared instance.
const Clock& system_clock();

/// A clock that moves only when told. Thread-safe.
class FakeClock final : public Clock {
 public:
  TimePoint now() const override;
  WallTime wall_now() const override;
  void advance(Duration step);

 private:
  mutable std::mutex mutex_;
  TimePoint now_{};
  WallTime wall_{};
};

}  // namespace kantha
