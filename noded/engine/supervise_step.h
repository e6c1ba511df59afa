#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process.h"
#include "noded/api/pod_state.h"
#include "noded/engine/engine_report.h"

/// What to do about one engine process: a pure state machine over facts and `now`.
///
/// Flow: Stopped → Starting → Ready → (ended) Backoff → Starting …; three ends inside the breaker's
/// window open it (CrashLoop), after which one start is tried per hold time until the engine has
/// stayed ready for a whole window. A refused configuration opens it at once, since a retry cannot
/// help. Guarantees: never two engine processes at once; every end leads to a start or to a named
/// phase. The I/O around it lives in supervisor.h.
namespace kantha::noded {

struct SupervisePolicy {
  Duration backoff_first = std::chrono::milliseconds(100);  ///< doubles per end in a row
  Duration backoff_max = std::chrono::seconds(10);
  int breaker_ends = 3;
  Duration breaker_window = std::chrono::minutes(10);
  Duration breaker_hold = std::chrono::seconds(60);
  /// A started engine whose /startup makes no progress for this long is killed.
  Duration start_timeout = std::chrono::seconds(120);
  /// An engine that was ready and does not answer for this long is killed.
  Duration silence_timeout = std::chrono::seconds(30);
  /// From SIGTERM to SIGKILL.
  Duration stop_timeout = std::chrono::seconds(40);
  /// The engine's exit statuses for a configuration or a model that it refuses.
  int refused_status_first = 2;
  int refused_status_last = 3;
};

/// Everything the machine knows. Plain data; owned by the supervisor.
struct SuperviseState {
  EnginePhase phase = EnginePhase::kStopped;
  std::string message = "not started yet";
  bool process_alive = false;
  bool wanted = true;             ///< false once the pod is going away
  bool stop_for_restart = false;  ///< the running process is being replaced on request
  std::int64_t starts = 0;
  std::int64_t restarts = 0;  ///< starts after the first one
  int ends_in_a_row = 0;
  std::deque<TimePoint> recent_ends = {};
  TimePoint next_start{};
  TimePoint last_sign{};  ///< last answer, or the start
  TimePoint ready_since{};
  std::optional<TimePoint> kill_at = {};
};

enum class SuperviseAction : std::uint8_t { kStart, kTerminate, kKill };

/// What happened since the last step; at most one process fact per step.
struct SuperviseInput {
  TimePoint now{};
  std::optional<ProcessExit> ended = {};
  std::optional<ProbeAnswer> probe = {};
  bool restart_requested = false;  ///< new configuration: replace the process (streams are done)
  bool stop_requested = false;     ///< the pod is going away
  /// The process could not be started at all; says why.
  std::optional<std::string> start_failed = {};
};

struct SuperviseOutput {
  SuperviseState state;
  std::vector<SuperviseAction> actions = {};
};

/// One step. Call it at least every `supervise_tick`.
SuperviseOutput supervise_step(SuperviseState state, const SuperviseInput& input,
                               const SupervisePolicy& policy);

inline constexpr Duration kSuperviseTick = std::chrono::milliseconds(50);

}  // namespace kantha::noded
