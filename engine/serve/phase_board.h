#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "engine/gateway/engine_port.h"

/// Where this process stands, for health routes and admission.
namespace kantha::serve {

enum class Phase : std::uint8_t { kLoading, kReady, kDraining };

/// "loading", "ready", "draining"; stable.
std::string_view phase_name(Phase phase);

/// Notices an engine that has work and does not get on. Pure; one thread.
class StallWatch {
 public:
  explicit StallWatch(Duration limit) : limit_(limit) {}
  /// Takes fresh numbers about once a second; true while work has been pending for longer than the
  /// limit without one finished step.
  bool observe(const gateway::EngineStats& stats, TimePoint now);
  bool stalled() const { return stalled_; }

 private:
  Duration limit_;
  std::int64_t steps_ = -1;
  TimePoint progress_{};
  bool stalled_ = false;
};

/// The phase and its story. Thread-safe: the boot reports its steps from its own thread.
class PhaseBoard {
 public:
  explicit PhaseBoard(const Clock& clock) : clock_(clock), started_(clock.now()) {}

  /// What the boot is doing ("mapping weights"), shown by /startup.
  void report(std::string step);
  void set_ready();
  /// Ready or loading → draining; there is no way back.
  void set_draining();
  void set_stalled(bool stalled);

  Phase phase() const;
  bool stalled() const;
  std::string step() const;
  std::int64_t uptime_ms() const;
  /// Success when a new request may start; else kUnavailable with model_loading or server_draining.
  Status admit() const;

 private:
  const Clock& clock_;
  const TimePoint started_;
  mutable std::mutex mutex_;
  Phase phase_ = Phase::kLoading;
  bool stalled_ = false;
  std::string step_ = "starting";
};

}  // namespace kantha::serve
