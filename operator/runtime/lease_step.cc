#include "operator/runtime/lease_step.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/rng.h"

namespace kantha::runtime {
namespace {

using std::chrono::seconds;

/// Waits differ by up to a fifth, so that contenders do not march in step.
constexpr double kJitter = 0.2;
constexpr Duration kTakeoverSpread = std::chrono::milliseconds(200);
/// A record that claims a longer duration is not believed.
constexpr std::int64_t kRecordSecondsMax = 300;
constexpr int kReleaseTriesMax = 4;
constexpr Duration kReleasePause = std::chrono::milliseconds(300);

class Stepper {
 public:
  Stepper(LeaseState state, TimePoint now) : now_(now) { step_.state = std::move(state); }

  void operator()(const LeaseDue&);
  void operator()(const LeaseFound& found);
  void operator()(const LeaseAbsent&);
  void operator()(const LeaseWritten& written);
  void operator()(const LeaseRefused&);
  void operator()(const LeaseFailed&);
  void operator()(const LeaseStop&);

  LeaseStep take() { return std::move(step_); }

 private:
  LeaseState& state() { return step_.state; }
  bool leads() { return state().is_leading(now_); }
  bool is_ours() { return state().record.holder == state().identity; }
  bool is_over() { return now_ >= state().seen_at + validity(); }

  void look() { step_.deed = {.kind = LeaseDeed::Kind::kLook}; }
  void wait(Duration span) { step_.deed = {.kind = LeaseDeed::Kind::kWait, .wait = span}; }
  void end() { step_.deed = {.kind = LeaseDeed::Kind::kEnd}; }
  void wait_for_turn();
  void write(LeaseDeed::Kind kind);
  void release();
  void retry_release();
  Duration validity();
  double random() { return random_unit(state().seed, state().draws++); }

  TimePoint now_;
  LeaseStep step_;
};

/// How long what was seen last keeps others out.
Duration Stepper::validity() {
  const std::int64_t told =
      std::clamp<std::int64_t>(state().record.duration_seconds, 0, kRecordSecondsMax);
  return std::max<Duration>(state().times.duration, seconds(told));
}

void Stepper::operator()(const LeaseDue&) {
  // A leader writes on what it wrote; everybody else reads first.
  if (!state().is_releasing && leads() && is_ours() && !state().resource_version.empty()) {
    return write(LeaseDeed::Kind::kReplace);
  }
  look();
}

void Stepper::operator()(const LeaseFound& found) {
  const bool is_news = state().is_absence || found.resource_version != state().resource_version;
  if (is_news) state().seen_at = now_;
  state().record = found.record;
  state().resource_version = found.resource_version;
  state().is_absence = false;
  if (state().is_releasing) {
    if (is_ours()) return release();
    return end();
  }
  // Somebody else by name, while we lead: the Lease was deleted or edited. Two that lead would be
  // worse than none. Without a name it was garbled, and the lead goes on.
  if (!is_ours() && !state().record.holder.empty()) state().leading_until.reset();
  if (leads() || is_ours() || state().record.is_released() || is_over()) {
    return write(LeaseDeed::Kind::kReplace);
  }
  wait_for_turn();
}

void Stepper::operator()(const LeaseAbsent&) {
  if (state().is_releasing) return end();
  // A Lease that was there may still be believed in by its holder, so it keeps others out.
  const bool was_seen = state().is_absence || !state().resource_version.empty();
  if (!state().is_absence && was_seen) state().seen_at = now_;
  state().is_absence = was_seen;
  state().resource_version.clear();
  if (leads() || !was_seen || is_over()) return write(LeaseDeed::Kind::kCreate);
  wait_for_turn();
}

void Stepper::operator()(const LeaseWritten& written) {
  state().is_unsure = false;
  state().resource_version = written.resource_version;
  state().is_absence = false;
  state().seen_at = now_;
  if (state().is_releasing) return end();
  state().leading_until = state().sent_at + state().times.renew_deadline;
  // An answer that took longer than the deadline is worth nothing; renew at once.
  wait(leads() ? state().times.retry : Duration::zero());
}

void Stepper::operator()(const LeaseRefused&) {
  state().is_unsure = false;
  if (state().is_releasing) return retry_release();
  look();
}

void Stepper::operator()(const LeaseFailed&) {
  if (state().is_releasing) return retry_release();
  wait_for_turn();
}

void Stepper::operator()(const LeaseStop&) {
  if (state().is_releasing) return retry_release();
  const bool holds = is_ours() && !state().resource_version.empty();
  state().is_releasing = true;
  state().leading_until.reset();
  if (state().is_unsure) return look();
  if (holds) return release();
  end();
}

void Stepper::wait_for_turn() {
  const double stretch = 1.0 + kJitter * random();
  Duration span = std::chrono::duration_cast<Duration>(state().times.retry * stretch);
  if (!leads() && (state().is_absence || !state().resource_version.empty())) {
    // Looks again just when it may be free, so that a takeover is not late by a whole retry.
    const Duration left = std::max(state().seen_at + validity() - now_, Duration::zero());
    const auto spread = std::chrono::duration_cast<Duration>(kTakeoverSpread * random());
    if (left > Duration::zero()) span = std::min(span, left + spread);
  }
  wait(span);
}

void Stepper::write(LeaseDeed::Kind kind) {
  LeaseRecord record = state().record;
  if (!is_ours()) {
    record.acquire_time.clear();
    record.transitions =
        std::max<std::int64_t>(record.transitions, 0) + (kind == LeaseDeed::Kind::kReplace ? 1 : 0);
  }
  record.holder = state().identity;
  record.duration_seconds = std::chrono::ceil<seconds>(state().times.duration).count();
  state().record = record;
  state().sent_at = now_;
  state().is_unsure = true;
  step_.deed = {.kind = kind, .record = std::move(record)};
}

void Stepper::release() {
  LeaseRecord record = state().record;
  record.holder.clear();
  record.duration_seconds = 1;
  step_.deed = {.kind = LeaseDeed::Kind::kReplace, .record = std::move(record)};
}

/// The write may have happened or met somebody else's: look before the next.
void Stepper::retry_release() {
  if (++state().release_tries > kReleaseTriesMax) return end();
  wait(kReleasePause);
}

}  // namespace

LeaseStep lease_step(LeaseState state, const LeaseInput& input, TimePoint now) {
  Stepper stepper(std::move(state), now);
  std::visit(stepper, input);
  return stepper.take();
}

}  // namespace kantha::runtime
