#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "noded/api/pod_state.h"
#include "noded/engine/engine_report.h"

/// What to think of an engine that somebody else runs: a pure state machine over what its socket
/// answers and `now`. It starts and ends nothing; the engine's own parent does.
///
///   starting → ready → (no answer) backoff → ready …; no answer for a minute → crash_loop, and
///   back from there as soon as an engine answers. Before the first answer it stays starting: the
///   other container may take its time.
///   A change that was asked for (new configuration, new process) → starting until the engine has
///   taken it up, or until it is clear that it does not.
namespace kantha::noded {

struct WatchPolicy {
  /// An engine that answered once and then does not for this long is given up for now.
  Duration lost_timeout = std::chrono::seconds(60);
  /// A change that shows no effect for this long is not going to have any.
  Duration take_up_timeout = std::chrono::seconds(5);
  /// A change that began and did not come to a ready engine.
  Duration change_timeout = std::chrono::minutes(5);
};

/// Something that the engine is expected to become.
struct WatchChange {
  std::string config_hash = {};  ///< it reports this; empty: any new process
  TimePoint asked{};
  bool begun = false;     ///< the old process shows that it goes
  bool replaced = false;  ///< another process was seen
};

/// Everything the machine knows. Plain data.
struct WatchState {
  EnginePhase phase = EnginePhase::kStarting;
  std::string message = "waiting for the engine";
  bool seen = false;  ///< it answered once
  std::optional<TimePoint> silent_since = {};
  std::string config_hash = {};  ///< of the last process seen
  std::int64_t pid = 0;
  std::int64_t process_restarts = 0;  ///< as that process says
  std::int64_t uptime_ms = 0;
  std::int64_t restarts = 0;  ///< processes after the first one
  std::string last_end = {};  ///< how the one before the last one ended, as that one says
  std::optional<WatchChange> change = {};
  std::string complaint = {};        ///< why a change came to nothing, for people
  std::string complaint_about = {};  ///< the configuration that it missed; may be empty
};

/// What was seen since the last step.
struct WatchInput {
  TimePoint now{};
  std::optional<ProbeAnswer> probe = {};
  std::optional<EngineReport> report = {};  ///< read after the probe
  std::optional<WatchChange> change = {};   ///< asked for now
  std::string where = {};                   ///< the engine's socket, for people
};

WatchState watch_step(WatchState state, const WatchInput& input, const WatchPolicy& policy);

}  // namespace kantha::noded
