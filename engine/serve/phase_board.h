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
///
/// A step may take as long as it takes on this machine: the limit is twenty times the usual step,
/// at least ten seconds; a minute before any step has been seen. A long load or long idle hours are
/// no stall, because time counts from the last step or the first open request, whichever is later.
class StallWatch {
 public:
  /// Takes fresh numbers about once a second; true while work has been pending for longer than the
  /// limit without one finished step.
  bool observe(const gateway::EngineStats& stats, TimePoint now);
  bool stalled() const { return stalled_; }
  Duration limit() const;

 private:
  void learn(const gateway::EngineStats& stats);

  std::int64_t steps_ = 0;
  double step_seconds_ = 0;  ///< of steps_ together
  double usual_ = 0;         ///< seconds of a step; 0: none seen
  TimePoint progress_{};  ///< when something was last seen to move
  bool seen_ = false;
  bool stalled_ = false;
};

/// What the boot is doing.
struct LoadProgress {
  std::string step = "starting";  ///< "mapping weights"
  std::int32_t index = 0;         ///< of the step, from 1; only rises
  std::int32_t count = 0;         ///< of all steps; 0: not known
  std::int64_t done = 0;          ///< within the step; only rises
  std::int64_t total = 0;         ///< 0: not known
  std::string unit = {};          ///< of done and total: "layers"
};

/// The phase and its story. Thread-safe: the boot reports its steps from its own thread.
class PhaseBoard {
 public:
  explicit PhaseBoard(const Clock& clock) : clock_(clock), started_(clock.now()) {}

  /// How many steps the boot has.
  void plan(std::int32_t steps);
  /// The boot begins its next step ("mapping weights"), shown by /startup; `total` in `unit`s, 0
  /// when nobody knows.
  void report(std::string step, std::int64_t total = 0, std::string unit = {});
  /// The boot gets on within its step; what is behind is ignored.
  void advance(std::int64_t done, std::int64_t total);
  void set_ready();
  /// Ready or loading → draining; there is no way back.
  void set_draining();
  void set_stalled(bool stalled);

  Phase phase() const;
  bool stalled() const;
  /// "preparing the forward pass (layer 7 of 30)".
  std::string step() const;
  LoadProgress progress() const;
  std::int64_t uptime_ms() const;
  /// Success when a new request may start; else kUnavailable with model_loading or server_draining.
  Status admit() const;

 private:
  const Clock& clock_;
  const TimePoint started_;
  mutable std::mutex mutex_;
  Phase phase_ = Phase::kLoading;
  bool stalled_ = false;
  LoadProgress progress_;
};

}  // namespace kantha::serve
