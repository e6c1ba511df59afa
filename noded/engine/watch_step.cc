#include "noded/engine/watch_step.h"

namespace kantha::noded {
namespace {

std::string seconds_of(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(duration).count()) + " s";
}

std::string short_hash(const std::string& hash) { return hash.substr(0, 10); }

/// True when the report comes from another process than the one before.
bool note_process(WatchState& state, const EngineReport& report) {
  const bool other = state.pid != report.pid || state.process_restarts != report.restarts ||
                     report.uptime_ms < state.uptime_ms;
  if (state.pid == 0) {
    state.restarts = report.restarts;
  } else if (other) {
    state.restarts += 1;
  }
  state.pid = report.pid;
  state.process_restarts = report.restarts;
  state.uptime_ms = report.uptime_ms;
  state.config_hash = report.config_hash;
  state.last_end = report.last_end;
  return other;
}

void on_silence(WatchState& state, const WatchInput& input, const WatchPolicy& policy) {
  if (!state.silent_since) state.silent_since = input.now;
  const Duration silent = input.now - *state.silent_since;
  const std::string since =
      silent >= std::chrono::seconds(1) ? " for " + seconds_of(silent) : std::string();
  if (!state.seen) {
    state.phase = EnginePhase::kStarting;
    state.message = "waiting for the engine: nobody answers on " + input.where + since;
  } else if (silent < policy.lost_timeout) {
    state.phase = EnginePhase::kBackoff;
    state.message = "the engine does not answer" + since + "; its parent starts it again";
  } else {
    state.phase = EnginePhase::kCrashLoop;
    state.message = "no engine answers on " + input.where + since + "; see the engine's log";
  }
}

void on_answer(WatchState& state, const WatchInput& input) {
  state.seen = true;
  state.silent_since.reset();
  if (*input.probe == ProbeAnswer::kReady) {
    state.phase = EnginePhase::kReady;
    state.message = "engine is ready";
    return;
  }
  state.phase = EnginePhase::kStarting;
  state.message = "engine is not ready";
  if (!input.report || input.report->phase.empty()) return;
  state.message = "engine is " + input.report->phase;
  if (input.report->phase == "loading") state.message += ": " + input.report->message;
}

void give_up(WatchState& state, std::string why) {
  state.complaint_about = state.change->config_hash;
  state.change.reset();
  state.complaint = std::move(why);
}

/// While a change is under way the engine is not used, whatever it answers.
void on_change(WatchState& state, const WatchInput& input, bool new_process,
               const WatchPolicy& policy) {
  if (!state.change) return;
  WatchChange& change = *state.change;
  change.begun = change.begun || new_process || state.phase != EnginePhase::kReady;
  change.replaced = change.replaced || new_process;
  const bool reached =
      change.config_hash.empty() ? change.replaced : state.config_hash == change.config_hash;
  if (state.phase == EnginePhase::kReady && reached) {
    state.change.reset();
    state.complaint.clear();
    return;
  }
  const Duration waited = input.now - change.asked;
  const std::string wanted = change.config_hash.empty()
                                 ? "a new process"
                                 : "configuration " + short_hash(change.config_hash);
  if (!change.begun && waited > policy.take_up_timeout) {
    return give_up(state, "the engine has not taken up " + wanted + " and goes on with " +
                              short_hash(state.config_hash) + "; see its log");
  }
  if (waited > policy.change_timeout) {
    return give_up(state, "no engine became ready with " + wanted + " within " +
                              seconds_of(policy.change_timeout) + "; see its log");
  }
  if (state.phase == EnginePhase::kReady) state.phase = EnginePhase::kStarting;
  if (state.phase == EnginePhase::kStarting || state.phase == EnginePhase::kBackoff) {
    state.message = "the engine changes to " + wanted + ": " + state.message;
  }
}

}  // namespace

WatchState watch_step(WatchState state, const WatchInput& input, const WatchPolicy& policy) {
  if (input.change) {
    state.change = input.change;
    state.complaint.clear();
    if (state.phase == EnginePhase::kReady) state.phase = EnginePhase::kStarting;
    state.message = "the engine is about to change";
  }
  if (!input.probe) return state;
  const bool new_process = input.report && note_process(state, *input.report);
  if (*input.probe == ProbeAnswer::kNone) {
    on_silence(state, input, policy);
  } else {
    on_answer(state, input);
  }
  on_change(state, input, new_process, policy);
  const bool came_true =
      !state.complaint_about.empty() && state.config_hash == state.complaint_about;
  if (came_true) state.complaint.clear();
  if (!state.complaint.empty()) state.message += "; " + state.complaint;
  return state;
}

}  // namespace kantha::noded
