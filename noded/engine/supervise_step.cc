#include "noded/engine/supervise_step.h"

#include <algorithm>

namespace kantha::noded {
namespace {

Duration backoff_after(int ends_in_a_row, const SupervisePolicy& policy) {
  Duration wait = policy.backoff_first;
  for (int i = 1; i < ends_in_a_row && wait < policy.backoff_max; ++i) wait *= 2;
  return std::min(wait, policy.backoff_max);
}

void forget_old_ends(SuperviseState& state, TimePoint now, const SupervisePolicy& policy) {
  while (!state.recent_ends.empty() && now - state.recent_ends.front() > policy.breaker_window) {
    state.recent_ends.pop_front();
  }
}

/// An engine that stayed ready for a whole window has earned a clean record.
void forgive(SuperviseState& state, TimePoint now, const SupervisePolicy& policy) {
  if (state.phase != EnginePhase::kReady) return;
  if (now - state.ready_since < policy.breaker_window) return;
  state.ends_in_a_row = 0;
  state.recent_ends.clear();
}

void note_failure(SuperviseState& state, const std::string& what, bool refused, TimePoint now,
                  const SupervisePolicy& policy) {
  state.ends_in_a_row += 1;
  state.recent_ends.push_back(now);
  forget_old_ends(state, now, policy);
  const bool open = static_cast<int>(state.recent_ends.size()) >= policy.breaker_ends;
  if (refused || open) {
    state.phase = EnginePhase::kCrashLoop;
    state.next_start = now + policy.breaker_hold;
    state.message =
        refused ? "engine refused its configuration or its model (" + what + "); see its log"
                : "engine ended " + std::to_string(state.recent_ends.size()) +
                      " times lately, last: " + what + "; next try after the hold time";
  } else {
    state.phase = EnginePhase::kBackoff;
    state.next_start = now + backoff_after(state.ends_in_a_row, policy);
    state.message = "engine ended: " + what;
  }
}

void on_end(SuperviseState& state, const ProcessExit& end, TimePoint now,
            const SupervisePolicy& policy) {
  state.process_alive = false;
  state.kill_at.reset();
  if (!state.wanted) {
    state.phase = EnginePhase::kStopped;
    state.message = "engine stopped: " + end.to_string();
    return;
  }
  if (state.stop_for_restart) {
    state.stop_for_restart = false;
    state.phase = EnginePhase::kBackoff;
    state.next_start = now;
    state.message = "engine stopped for a new configuration";
    return;
  }
  const bool refused = end.signal == 0 && end.code >= policy.refused_status_first &&
                       end.code <= policy.refused_status_last;
  note_failure(state, end.to_string(), refused, now, policy);
}

void on_probe(SuperviseState& state, ProbeAnswer answer, TimePoint now) {
  if (!state.process_alive || state.kill_at.has_value()) return;
  if (answer != ProbeAnswer::kNone) state.last_sign = now;
  if (answer == ProbeAnswer::kReady && state.phase != EnginePhase::kReady) {
    state.phase = EnginePhase::kReady;
    state.ready_since = now;
    state.message = "engine is ready";
  } else if (answer != ProbeAnswer::kReady && state.phase == EnginePhase::kReady) {
    state.phase = EnginePhase::kStarting;
    state.message =
        answer == ProbeAnswer::kLoading ? "engine says it is not ready" : "engine does not answer";
  }
}

void terminate(SuperviseOutput& out, TimePoint now, const SupervisePolicy& policy) {
  if (out.state.kill_at.has_value()) return;
  out.actions.push_back(SuperviseAction::kTerminate);
  out.state.kill_at = now + policy.stop_timeout;
}

void on_requests(SuperviseOutput& out, const SuperviseInput& input, const SupervisePolicy& policy) {
  SuperviseState& state = out.state;
  if (input.stop_requested) {
    state.wanted = false;
    if (state.process_alive) {
      state.message = "engine is being stopped";
      terminate(out, input.now, policy);
    } else {
      state.phase = EnginePhase::kStopped;
    }
  }
  if (!input.restart_requested || !state.wanted) return;
  // A new configuration deserves a fresh record: the old one's crashes say nothing about it.
  state.recent_ends.clear();
  state.ends_in_a_row = 0;
  if (state.process_alive) {
    state.stop_for_restart = true;
    state.phase = EnginePhase::kStarting;
    state.message = "engine is being restarted with a new configuration";
    terminate(out, input.now, policy);
  } else {
    state.phase = EnginePhase::kBackoff;
    state.next_start = input.now;
  }
}

void on_silence(SuperviseOutput& out, TimePoint now, const SupervisePolicy& policy) {
  SuperviseState& state = out.state;
  if (state.kill_at.has_value()) {
    if (now < *state.kill_at) return;
    out.actions.push_back(SuperviseAction::kKill);
    state.kill_at = now + std::chrono::seconds(5);
    return;
  }
  const bool was_ready = state.ready_since != TimePoint{};
  const Duration limit = was_ready ? policy.silence_timeout : policy.start_timeout;
  if (now - state.last_sign <= limit) return;
  state.message = "engine did not answer for too long";
  out.actions.push_back(SuperviseAction::kKill);
  state.kill_at = now + std::chrono::seconds(5);
}

void start_when_due(SuperviseOutput& out, TimePoint now) {
  SuperviseState& state = out.state;
  if (now < state.next_start) return;
  out.actions.push_back(SuperviseAction::kStart);
  state.phase = EnginePhase::kStarting;
  state.message = state.starts == 0 ? "engine is starting" : "engine is starting again";
  state.restarts += state.starts > 0 ? 1 : 0;
  state.starts += 1;
  state.process_alive = true;
  state.last_sign = now;
  state.ready_since = {};
}

}  // namespace

SuperviseOutput supervise_step(SuperviseState state, const SuperviseInput& input,
                               const SupervisePolicy& policy) {
  SuperviseOutput out{std::move(state)};
  if (input.ended) on_end(out.state, *input.ended, input.now, policy);
  if (input.start_failed) {
    out.state.process_alive = false;
    note_failure(out.state, *input.start_failed, /*refused=*/false, input.now, policy);
  }
  if (input.probe) on_probe(out.state, *input.probe, input.now);
  forgive(out.state, input.now, policy);
  on_requests(out, input, policy);
  if (out.state.process_alive) {
    on_silence(out, input.now, policy);
  } else if (out.state.wanted) {
    start_when_due(out, input.now);
  }
  return out;
}

}  // namespace kantha::noded
