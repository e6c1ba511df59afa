#include "engine/serve/phase_board.h"

#include <utility>

#include "engine/api/openai_error.h"

namespace kantha::serve {

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::kLoading: return "loading";
    case Phase::kReady: return "ready";
    case Phase::kDraining: return "draining";
  }
  CHECK(false, "unknown phase");
}

bool StallWatch::observe(const gateway::EngineStats& stats, TimePoint now) {
  const bool pending = stats.requests_running + stats.requests_waiting > 0;
  if (!pending || stats.steps_total != steps_) {
    steps_ = stats.steps_total;
    progress_ = now;
  }
  stalled_ = pending && now - progress_ > limit_;
  return stalled_;
}

void PhaseBoard::report(std::string step) {
  const std::lock_guard lock(mutex_);
  step_ = std::move(step);
}

void PhaseBoard::set_ready() {
  const std::lock_guard lock(mutex_);
  if (phase_ == Phase::kLoading) phase_ = Phase::kReady;
  step_ = "ready";
}

void PhaseBoard::set_draining() {
  const std::lock_guard lock(mutex_);
  phase_ = Phase::kDraining;
}

void PhaseBoard::set_stalled(bool stalled) {
  const std::lock_guard lock(mutex_);
  stalled_ = stalled;
}

Phase PhaseBoard::phase() const {
  const std::lock_guard lock(mutex_);
  return phase_;
}

bool PhaseBoard::stalled() const {
  const std::lock_guard lock(mutex_);
  return stalled_;
}

std::string PhaseBoard::step() const {
  const std::lock_guard lock(mutex_);
  return step_;
}

std::int64_t PhaseBoard::uptime_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - started_).count();
}

Status PhaseBoard::admit() const {
  const std::lock_guard lock(mutex_);
  if (phase_ == Phase::kReady) return ok_status();
  const bool loading = phase_ == Phase::kLoading;
  Error error = unavailable(loading ? "the model is loading: " + step_
                                    : std::string("this server is draining: use another one"));
  error.reason = loading ? api::kReasonLoading : api::kReasonDraining;
  error.retry_after_ms = loading ? 1000 : 2000;
  return error;
}

}  // namespace kantha::serve
