#include "operator/local/autoscaler.h"

namespace kantha::local {

std::optional<serving::ScalePod> scale_pod(const PodFacts& facts, TimePoint now) {
  const serving::ObservedPod seen = observe(facts, now);
  if (seen.terminating || seen.draining) return std::nullopt;
  serving::ScalePod out;
  out.name = facts.name;
  if (seen.ready && serving::is_available(seen) && facts.state->kv_blocks_total > 0) {
    out.pressure = facts.state->kv_pressure;
    out.age = now - facts.state_at + std::chrono::milliseconds(facts.state->age_ms);
  } else {
    out.why_none = phase_word(facts, now);
  }
  return out;
}

std::optional<serving::ZeroPod> zero_pod(const PodFacts& facts, TimePoint now) {
  const serving::ObservedPod seen = observe(facts, now);
  if (seen.terminating || seen.draining) return std::nullopt;
  serving::ZeroPod out{facts.name, std::nullopt};
  if (seen.ready && facts.state->idle_ms >= 0) {
    out.idle = std::chrono::milliseconds(facts.state->idle_ms);
  }
  return out;
}

std::optional<std::int64_t> Autoscaler::look_at_zero(const serving::ModelServing& serving,
                                                     std::vector<serving::ZeroPod> pods,
                                                     std::int64_t available, bool knocks,
                                                     const std::string& holds, const Clock& clock) {
  const auto& scaling = serving.spec.autoscaling;
  if (!scaling || !scaling->may_sleep()) {
    zero_.reset();
    return std::nullopt;
  }
  const std::int64_t count = serving.replicas_or_default();
  serving::ZeroInput input{.replicas = count,
                           .spec = *scaling,
                           .pods = std::move(pods),
                           .available = available,
                           .door = {.is_there = true,
                                    .is_open = true,
                                    .waiting = count == 0 && knocks ? 1 : 0,
                                    .idle = Duration::max()},
                           .holds = holds};
  // A shared socket needs no time to be known, and is never closed.
  const serving::ZeroTimes at_once{.spread = {}, .settle = {}};
  zero_ = serving::plan_zero(zero_ ? zero_->memory : serving::ZeroMemory{}, input, clock.now(),
                             at_once);
  const auto decision = serving::zero_decision(*zero_, count, clock.wall_now());
  if (!decision) return std::nullopt;
  decisions_ = serving::with_decisions(std::move(decisions_), {*decision});
  return zero_->replicas;
}

std::vector<std::string> Autoscaler::arithmetic() const {
  std::vector<std::string> out = arithmetic_;
  if (!zero_) return out;
  std::string line = "to or from zero: " + std::string(serving::zero_reason_name(zero_->reason));
  if (!zero_->inputs.empty()) line += " (" + zero_->inputs + ")";
  out.push_back(std::move(line));
  return out;
}

std::optional<std::int64_t> Autoscaler::look(const serving::ModelServing& serving,
                                             const std::vector<serving::ScalePod>& pods,
                                             const std::string& holds_down, const Clock& clock) {
  if (!serving.spec.autoscaling) {
    law_ = {};
    condition_.reset();
    arithmetic_.clear();
    looked_at_.reset();
    return std::nullopt;
  }
  const TimePoint now = clock.now();
  if (looked_at_ && now - *looked_at_ < every_) return std::nullopt;
  looked_at_ = now;
  const serving::ScaleVerdict verdict = law_.decide(
      {serving.replicas_or_default(), *serving.spec.autoscaling, pods, holds_down}, now);
  arithmetic_ = serving::scale_arithmetic(verdict);
  condition_ = serving::scaling_condition(*serving.spec.autoscaling, verdict.reason);
  condition_->observed_generation = serving.metadata.generation;
  const auto decision = serving::scale_decision(verdict, clock.wall_now());
  if (!decision) return std::nullopt;
  decisions_ = serving::with_decisions(std::move(decisions_), {*decision});
  return verdict.wanted;
}

}  // namespace kantha::local
