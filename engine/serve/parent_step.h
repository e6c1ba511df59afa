#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process.h"

/// What the parent of an engine process does next: a pure state machine over facts and `now`. The
/// I/O around it is engine_parent.h.
///
///   no file → running → (crash) pause → running …; three crashes in ten minutes → done, status 1
///   running → (new file that can be run) replacing: drained → running with the new file
///   running → (exit 2: configuration refused) refused → (new file) running
///   any → (SIGTERM) leaving: the engine serves on for the grace, then drains → done
///
/// Guarantees: never two engines at once; a configuration that cannot be run replaces no running
/// engine and costs no crash of the breaker; every end of the engine leads to a start, to a wait
/// for a file, or to an exit status with a sentence.
namespace kantha::serve {

struct ParentPolicy {
  Duration restart_pause = std::chrono::milliseconds(300);
  int breaker_ends = 3;
  Duration breaker_window = std::chrono::minutes(10);
  /// From SIGTERM until the engine refuses new work. The front door in the same pod gets its
  /// SIGTERM at the same moment and takes requests until the world has seen that it leaves.
  Duration leave_grace = std::chrono::seconds(4);
  /// What an engine gets beyond its drain timeout before it is killed.
  Duration kill_margin = std::chrono::seconds(5);
  /// An engine that gives no sign of life for this long is killed.
  Duration silence_timeout = std::chrono::seconds(60);
  /// A pause between two steps that is longer than this was our own (a frozen machine): the
  /// engine's silence counts anew.
  Duration own_pause = std::chrono::seconds(5);
  int refused_status = 2;  ///< the engine's exit status for a configuration that it refuses
};

enum class ParentPhase : std::uint8_t {
  kNoFile,     ///< waits for the configuration file
  kRunning,    ///< an engine runs
  kReplacing,  ///< the running engine drains for a new file
  kPause,      ///< between a crash and the next start
  kRefused,    ///< waits for another file
  kLeaving,    ///< SIGTERM was seen
  kDone,       ///< `exit_status` is final
};

/// How an engine ended, as the next one tells the front door: who asks whether a request ends
/// engines must not count those that somebody else ended.
enum class EngineEnd : std::uint8_t {
  kNone,     ///< there was none before
  kCrashed,  ///< by itself, or it hung and was killed
  kWasEnded  ///< by a signal from outside, or because it was asked to
};

/// "none", "crashed", "was_ended".
std::string_view engine_end_name(EngineEnd end);

std::string_view parent_phase_name(ParentPhase phase);

/// Everything the machine knows. Plain data.
struct ParentState {
  ParentPhase phase = ParentPhase::kNoFile;
  std::string message = "waiting for the configuration file";
  bool alive = false;
  std::int64_t starts = 0;
  bool killed = false;                    ///< we kill the running engine, since it hangs
  EngineEnd last_end = EngineEnd::kNone;  ///< of the engine before the running one
  std::string file_hash = {};             ///< of the file with which the engine was last started
  std::deque<TimePoint> crashes = {};
  TimePoint next_start{};
  TimePoint last_sign{};
  TimePoint last_step{};
  std::optional<TimePoint> terminate_at = {};  ///< while leaving, until SIGTERM is passed on
  std::optional<TimePoint> kill_at = {};       ///< once SIGTERM was passed on
  int exit_status = 0;
};

enum class ParentAction : std::uint8_t { kStart, kTerminate, kKill };

/// What was seen since the last step.
struct ParentInput {
  TimePoint now{};
  std::optional<std::string> file_hash = {};  ///< SHA-256 of the file; absent: no file
  bool file_runnable = true;                  ///< the file as it is now passes the engine's checks
  Duration drain_timeout = std::chrono::seconds(30);  ///< of the running engine
  std::optional<ProcessExit> ended = {};
  std::optional<std::string> start_failed = {};  ///< the process could not be started; why
  bool sign_of_life = false;                     ///< the engine answered
  int leave_signals = 0;  ///< SIGTERMs since the last step; every one after the first hurries
  bool hurry = false;     ///< SIGINT: leave without the grace
};

struct ParentOutput {
  ParentState state;
  std::vector<ParentAction> actions = {};
};

/// One step; call it at least every kParentTick.
ParentOutput parent_step(ParentState state, const ParentInput& input, const ParentPolicy& policy);

inline constexpr Duration kParentTick = std::chrono::milliseconds(50);

}  // namespace kantha::serve
