#include "engine/serve/parent_step.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace kantha::serve {
namespace {

std::string minutes_of(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::minutes>(duration).count());
}

void finish(ParentState& state, int status, std::string message) {
  state.phase = ParentPhase::kDone;
  state.exit_status = status;
  state.message = std::move(message);
}

void note_crash(ParentState& state, const std::string& what, TimePoint now,
                const ParentPolicy& policy) {
  std::erase_if(state.crashes, [&](TimePoint at) { return now - at > policy.breaker_window; });
  state.crashes.push_back(now);
  const auto count = static_cast<int>(state.crashes.size());
  if (count >= policy.breaker_ends) {
    finish(state, 1,
           "the engine ended " + std::to_string(count) + " times within " +
               minutes_of(policy.breaker_window) + " minutes, last: " + what);
    return;
  }
  state.phase = ParentPhase::kPause;
  state.next_start = now + policy.restart_pause;
  state.message = "the engine ended: " + what;
}

void on_end(ParentState& state, const ProcessExit& end, TimePoint now, const ParentPolicy& policy) {
  const ParentPhase before = state.phase;
  state.alive = false;
  state.kill_at.reset();
  state.terminate_at.reset();
  const bool clean = end.signal == 0 && end.code == 0;
  const bool from_outside = end.signal == SIGKILL || end.signal == SIGTERM;
  const bool crashed = std::exchange(state.killed, false) || !(clean || from_outside);
  state.last_end = crashed ? EngineEnd::kCrashed : EngineEnd::kWasEnded;
  if (before == ParentPhase::kLeaving) {
    finish(state, clean ? 0 : 1, "the engine ended: " + end.to_string());
  } else if (before == ParentPhase::kReplacing) {
    state.phase = ParentPhase::kPause;
    state.next_start = now;
    state.message = "the engine ended for the new configuration: " + end.to_string();
  } else if (end.signal == 0 && end.code == policy.refused_status) {
    state.phase = ParentPhase::kRefused;
    state.message = "the engine refuses its configuration; waiting for another one";
  } else if (clean) {
    // Somebody asked it to (its admin API): no crash.
    state.phase = ParentPhase::kPause;
    state.next_start = now + policy.restart_pause;
    state.message = "the engine was asked to end";
  } else {
    note_crash(state, end.to_string(), now, policy);
  }
}

void terminate(ParentOutput& out, const ParentInput& input, const ParentPolicy& policy) {
  out.actions.push_back(ParentAction::kTerminate);
  out.state.terminate_at.reset();
  out.state.kill_at = input.now + input.drain_timeout + policy.kill_margin;
}

void on_leave(ParentOutput& out, const ParentInput& input, const ParentPolicy& policy) {
  ParentState& state = out.state;
  int signals = input.leave_signals;
  if (signals == 0 && !input.hurry) return;
  if (!state.alive) return finish(state, 0, "nothing runs");
  bool hurry = input.hurry;
  if (state.phase != ParentPhase::kLeaving) {
    const bool draining = state.phase == ParentPhase::kReplacing;
    state.phase = ParentPhase::kLeaving;
    state.message = "leaving";
    // An engine that drains for a new file goes on with that.
    if (!draining) state.terminate_at = input.now + policy.leave_grace;
    --signals;
  }
  hurry = hurry || signals > 0;
  if (!hurry) return;
  // To an engine that drains already, one more SIGTERM says: at once.
  terminate(out, input, policy);
}

void on_file(ParentOutput& out, const ParentInput& input, const ParentPolicy& policy) {
  ParentState& state = out.state;
  if (state.phase != ParentPhase::kRunning || !input.file_hash || !input.file_runnable) return;
  if (*input.file_hash == state.file_hash) return;
  state.phase = ParentPhase::kReplacing;
  state.message = "the configuration changed; the engine drains";
  terminate(out, input, policy);
}

void on_time(ParentOutput& out, const ParentInput& input, const ParentPolicy& policy) {
  ParentState& state = out.state;
  if (state.terminate_at && input.now >= *state.terminate_at) terminate(out, input, policy);
  const bool silent = input.now - state.last_sign > policy.silence_timeout;
  const bool overdue = state.kill_at && input.now >= *state.kill_at;
  if (!overdue && (state.kill_at || !silent)) return;
  out.actions.push_back(ParentAction::kKill);
  state.killed = !overdue;
  state.kill_at = input.now + policy.kill_margin;
  state.message = overdue ? "the engine outlived its drain" : "the engine gives no sign of life";
}

void start_when_due(ParentOutput& out, const ParentInput& input) {
  ParentState& state = out.state;
  if (!input.file_hash) {
    state.phase = ParentPhase::kNoFile;
    state.message = "waiting for the configuration file";
    return;
  }
  const bool fresh = *input.file_hash != state.file_hash;
  if (state.phase == ParentPhase::kRefused && !fresh) return;
  if (state.phase == ParentPhase::kPause && !fresh && input.now < state.next_start) return;
  // What crashed under another configuration says nothing about this one.
  if (fresh) state.crashes.clear();
  state.file_hash = *input.file_hash;
  state.alive = true;
  state.starts += 1;
  state.last_sign = input.now;
  state.phase = ParentPhase::kRunning;
  state.message = "the engine runs";
  out.actions.push_back(ParentAction::kStart);
}

}  // namespace

std::string_view engine_end_name(EngineEnd end) {
  switch (end) {
    case EngineEnd::kNone: return "none";
    case EngineEnd::kCrashed: return "crashed";
    case EngineEnd::kWasEnded: return "was_ended";
  }
  return "none";
}

std::string_view parent_phase_name(ParentPhase phase) {
  switch (phase) {
    case ParentPhase::kNoFile: return "no_file";
    case ParentPhase::kRunning: return "running";
    case ParentPhase::kReplacing: return "replacing";
    case ParentPhase::kPause: return "pause";
    case ParentPhase::kRefused: return "refused";
    case ParentPhase::kLeaving: return "leaving";
    case ParentPhase::kDone: return "done";
  }
  return "unknown";
}

ParentOutput parent_step(ParentState state, const ParentInput& input, const ParentPolicy& policy) {
  ParentOutput out{std::move(state)};
  ParentState& now = out.state;
  if (input.ended && now.alive) on_end(now, *input.ended, input.now, policy);
  if (input.start_failed && now.alive) {
    now.alive = false;
    note_crash(now, *input.start_failed, input.now, policy);
  }
  const bool was_frozen = input.now - now.last_step > policy.own_pause;
  if (input.sign_of_life || was_frozen) now.last_sign = input.now;
  now.last_step = input.now;
  if (now.phase != ParentPhase::kDone) on_leave(out, input, policy);
  if (now.phase == ParentPhase::kDone) return out;
  if (now.alive) {
    on_file(out, input, policy);
    on_time(out, input, policy);
  } else {
    start_when_due(out, input);
  }
  return out;
}

}  // namespace kantha::serve
