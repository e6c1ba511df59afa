#include "engine/serve/phase_board.h"

#include <algorithm>
#include <utility>

#include "engine/api/openai_error.h"

namespace kantha::serve {
namespace {

std::string words_of(const LoadProgress& progress) {
  if (progress.total == 0 || progress.done == progress.total) return progress.step;
  return progress.step + " (" + std::to_string(progress.done) + " of " +
         std::to_string(progress.total) + " " + progress.unit + ")";
}

}  // namespace

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::kLoading: return "loading";
    case Phase::kReady: return "ready";
    case Phase::kDraining: return "draining";
  }
  CHECK(false, "unknown phase");
}

Duration StallWatch::limit() const {
  constexpr double kUnknown = 60;
  constexpr double kLeast = 10;
  constexpr double kSteps = 20;
  constexpr double kMost = 3600;
  const double seconds = usual_ == 0 ? kUnknown : std::clamp(kSteps * usual_, kLeast, kMost);
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

/// Keeps the usual step as a moving average over what was observed.
void StallWatch::learn(const gateway::EngineStats& stats) {
  const std::int64_t steps = stats.steps_total - steps_;
  const double seconds = stats.step_seconds_total - step_seconds_;
  step_seconds_ = stats.step_seconds_total;
  steps_ = stats.steps_total;
  if (steps <= 0 || seconds <= 0) return;
  const double step = seconds / static_cast<double>(steps);
  usual_ += (step - usual_) / (usual_ == 0 ? 1 : 8);
}

bool StallWatch::observe(const gateway::EngineStats& stats, TimePoint now) {
  const bool pending = stats.requests_running + stats.requests_waiting > 0;
  if (!seen_ || !pending || stats.steps_total != steps_) progress_ = now;
  seen_ = true;
  learn(stats);
  // The engine's own times are exact; without them counts what was seen.
  const bool told = stats.busy_since != TimePoint{};
  const TimePoint since = told ? std::max(stats.last_step, stats.busy_since) : progress_;
  stalled_ = pending && now - since > limit();
  return stalled_;
}

void PhaseBoard::plan(std::int32_t steps) {
  const std::lock_guard lock(mutex_);
  progress_.count = steps;
}

void PhaseBoard::report(std::string step, std::int64_t total, std::string unit) {
  const std::lock_guard lock(mutex_);
  progress_ = {.step = std::move(step),
               .index = progress_.index + 1,
               .count = progress_.count,
               .total = total,
               .unit = std::move(unit)};
}

void PhaseBoard::advance(std::int64_t done, std::int64_t total) {
  const std::lock_guard lock(mutex_);
  progress_.total = total;
  progress_.done = std::max(progress_.done, std::min(done, total));
}

void PhaseBoard::set_ready() {
  const std::lock_guard lock(mutex_);
  if (phase_ == Phase::kLoading) phase_ = Phase::kReady;
  progress_.step = "ready";
  progress_.index = std::max(progress_.index, progress_.count);
  progress_.done = progress_.total;
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

std::string PhaseBoard::step() const { return words_of(progress()); }

LoadProgress PhaseBoard::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

std::int64_t PhaseBoard::uptime_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - started_).count();
}

Status PhaseBoard::admit() const {
  const std::lock_guard lock(mutex_);
  if (phase_ == Phase::kReady) return ok_status();
  const bool loading = phase_ == Phase::kLoading;
  Error error = unavailable(loading ? "the model is loading: " + words_of(progress_)
                                    : std::string("this server is draining: use another one"));
  error.reason = loading ? api::kReasonLoading : api::kReasonDraining;
  error.retry_after_ms = loading ? 1000 : 2000;
  return error;
}

}  // namespace kantha::serve
