#include "operator/serving/scale_law.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "operator/serving/quantity.h"

namespace kantha::serving {
namespace {

constexpr std::int64_t kDownWindowSeconds = 300;
constexpr Duration kRememberedFor = std::chrono::hours(1);
constexpr double kTolerance = 0.1;
/// Sums of samples are off by less than this.
constexpr double kRounding = 1e-9;

bool is_fresh(const ScalePod& pod) {
  return pod.pressure && std::isfinite(*pod.pressure) && *pod.pressure >= 0 &&
         pod.age <= kSampleStaleAfter;
}

double tolerance_of(const std::optional<ScalingRules>& rules) {
  if (!rules || rules->tolerance.empty()) return kTolerance;
  const Result<std::int64_t> milli = quantity_milli(rules->tolerance);
  return milli.ok() ? static_cast<double>(*milli) / 1000 : kTolerance;
}

Duration window_of(const std::optional<ScalingRules>& rules, std::int64_t otherwise) {
  return std::chrono::seconds(rules ? rules->stabilization_window_seconds.value_or(otherwise)
                                    : otherwise);
}

bool is_disabled(const std::optional<ScalingRules>& rules) {
  return rules && rules->select_policy == "Disabled";
}

/// An HPA's defaults: up by 4 pods or 100 % in 15 s, whichever is more; down by anything.
std::vector<ScalingPolicy> policies_of(const std::optional<ScalingRules>& rules, bool is_up) {
  if (rules && !rules->policies.empty()) return rules->policies;
  if (is_up) return {{"Percent", 100, 15}, {"Pods", 4, 15}};
  return {{"Percent", 100, 15}};
}

void sum_up(const ScaleInput& input, ScaleVerdict& out) {
  double sum = 0;
  for (const ScalePod& pod : input.pods) {
    if (is_fresh(pod)) {
      ++out.sampled;
      sum += *pod.pressure;
    } else {
      ++out.missing;
    }
  }
  if (out.sampled == 0) return;
  out.mean = sum / static_cast<double>(out.sampled);
  const bool is_up = out.mean > out.target;
  const double others = is_up ? 0 : out.target * static_cast<double>(out.missing);
  out.mean_with_missing = (sum + others) / static_cast<double>(out.sampled + out.missing);
  out.tolerance =
      tolerance_of(is_up ? input.spec.behavior.scale_up : input.spec.behavior.scale_down);
}

/// What the pressure asks for, before bounds; sets the reason.
std::int64_t asked_by_pressure(ScaleVerdict& out) {
  if (out.sampled == 0) {
    out.reason = ScaleReason::kNoSamples;
    return out.current;
  }
  const double ratio = out.mean / out.target;
  const double careful = out.mean_with_missing / out.target;
  if (std::abs(ratio - 1) <= out.tolerance + kRounding) {
    out.reason = ScaleReason::kWithinTolerance;
    return out.current;
  }
  const bool turns = (ratio < 1) != (careful < 1);
  if (turns || std::abs(careful - 1) <= out.tolerance + kRounding) {
    out.reason = ScaleReason::kMissingSamples;
    return out.current;
  }
  // A hair above a whole number is rounding of the sum, and no reason for one more pod.
  const double exact = careful * static_cast<double>(out.sampled + out.missing);
  const auto asked = static_cast<std::int64_t>(std::ceil(std::min(exact, 1e6) - kRounding));
  const bool is_up = ratio > 1;
  if (is_up ? asked <= out.current : asked >= out.current) {
    out.reason = ScaleReason::kMissingSamples;
    return out.current;
  }
  out.reason = is_up ? ScaleReason::kPressureAboveTarget : ScaleReason::kPressureBelowTarget;
  return asked;
}

/// The most (up) or the least (down) that one policy allows, from the count before its period.
std::int64_t bound_of(const ScalingPolicy& policy, std::int64_t before, bool is_up) {
  const double share = static_cast<double>(policy.value) / 100;
  const auto base = static_cast<double>(before);
  if (policy.type == "Pods") return is_up ? before + policy.value : before - policy.value;
  return static_cast<std::int64_t>(is_up ? std::ceil(base * (1 + share))
                                         : std::floor(base * (1 - share)));
}

std::string age_text(Duration age) {
  return fmt::format("{:.1f} s old", std::chrono::duration<double>(age).count());
}

std::string pod_text(const ScalePod& pod) {
  if (is_fresh(pod)) {
    return fmt::format("{}: pressure {:.3f}, {}", pod.name, *pod.pressure, age_text(pod.age));
  }
  if (pod.pressure) return fmt::format("{}: no sample (stale, {})", pod.name, age_text(pod.age));
  return fmt::format("{}: no sample ({})", pod.name,
                     pod.why_none.empty() ? "not serving" : pod.why_none);
}

}  // namespace

std::string_view scale_reason_name(ScaleReason reason) {
  switch (reason) {
    case ScaleReason::kWithinTolerance: return "WithinTolerance";
    case ScaleReason::kPressureAboveTarget: return "PressureAboveTarget";
    case ScaleReason::kPressureBelowTarget: return "PressureBelowTarget";
    case ScaleReason::kNoSamples: return "NoSamples";
    case ScaleReason::kMissingSamples: return "MissingSamples";
    case ScaleReason::kStabilizing: return "Stabilizing";
    case ScaleReason::kRateLimited: return "RateLimited";
    case ScaleReason::kScalingDisabled: return "ScalingDisabled";
    case ScaleReason::kHeld: return "Held";
    case ScaleReason::kTooFewReplicas: return "TooFewReplicas";
    case ScaleReason::kTooManyReplicas: return "TooManyReplicas";
  }
  return "?";
}

void ScaleLaw::forget(TimePoint now) {
  for (auto* entries : {&asked_, &changes_}) {
    while (!entries->empty() && now - entries->front().at > kRememberedFor) entries->pop_front();
  }
}

std::int64_t ScaleLaw::stabilize(const ScaleInput& input, std::int64_t asked, TimePoint now) {
  // The count that is found at the beginning is what the first window is careful of.
  if (asked_.empty()) asked_.push_back({now, input.current});
  const ScalingBehavior& behavior = input.spec.behavior;
  const Duration up = window_of(behavior.scale_up, 0);
  const Duration down = window_of(behavior.scale_down, kDownWindowSeconds);
  std::int64_t least = asked;
  std::int64_t most = asked;
  for (const Entry& entry : asked_) {
    if (now - entry.at < up) least = std::min(least, entry.count);
    if (now - entry.at < down) most = std::max(most, entry.count);
  }
  asked_.push_back({now, asked});
  if (input.current < least) return least;
  if (input.current > most) return most;
  return input.current;
}

std::int64_t ScaleLaw::limit(const ScaleInput& input, std::int64_t wanted, TimePoint now) const {
  const bool is_up = wanted > input.current;
  const auto& rules = is_up ? input.spec.behavior.scale_up : input.spec.behavior.scale_down;
  if (is_disabled(rules)) return input.current;
  const bool takes_widest = !rules || rules->select_policy != "Min";
  std::optional<std::int64_t> bound;
  for (const ScalingPolicy& policy : policies_of(rules, is_up)) {
    std::int64_t changed = 0;
    for (const Entry& entry : changes_) {
      if (now - entry.at >= std::chrono::seconds(policy.period_seconds)) continue;
      if ((entry.count > 0) == is_up) changed += entry.count;
    }
    const std::int64_t one = bound_of(policy, input.current - changed, is_up);
    if (!bound) bound = one;
    bound = takes_widest == is_up ? std::max(*bound, one) : std::min(*bound, one);
  }
  if (is_up) return std::max(input.current, std::min(wanted, bound.value_or(wanted)));
  return std::min(input.current, std::max(wanted, bound.value_or(wanted)));
}

ScaleVerdict ScaleLaw::decide(const ScaleInput& input, TimePoint now) {
  forget(now);
  ScaleVerdict out;
  out.current = out.wanted = out.asked = out.stabilized = out.limited = input.current;
  out.target = input.spec.target_kv_pressure;
  out.pods = input.pods;
  out.holds_down = input.holds_down;
  const std::int64_t min = input.spec.awake_min();
  const std::int64_t max = std::max(min, input.spec.max_replicas);
  sum_up(input, out);
  if (input.current == 0) {
    out.reason = ScaleReason::kScalingDisabled;
    return out;
  }
  if (input.current < min || input.current > max) {
    out.reason = input.current < min ? ScaleReason::kTooFewReplicas : ScaleReason::kTooManyReplicas;
    out.wanted = std::clamp(input.current, min, max);
  } else {
    out.asked = std::clamp(asked_by_pressure(out), min, max);
    out.stabilized = stabilize(input, out.asked, now);
    out.limited = limit(input, out.stabilized, now);
    out.wanted = std::clamp(out.limited, min, max);
    if (out.stabilized != out.asked) out.reason = ScaleReason::kStabilizing;
    if (out.limited != out.stabilized && out.limited == out.current) {
      const bool is_up = out.stabilized > out.current;
      const auto& rules = is_up ? input.spec.behavior.scale_up : input.spec.behavior.scale_down;
      out.reason = is_disabled(rules) ? ScaleReason::kScalingDisabled : ScaleReason::kRateLimited;
    }
  }
  if (out.wanted < out.current && !input.holds_down.empty()) {
    out.wanted = out.current;
    out.reason = ScaleReason::kHeld;
  }
  if (out.wanted != out.current) changes_.push_back({now, out.wanted - out.current});
  return out;
}

std::vector<std::string> scale_arithmetic(const ScaleVerdict& verdict) {
  std::vector<std::string> out;
  for (const ScalePod& pod : verdict.pods) out.push_back(pod_text(pod));
  if (verdict.sampled > 0) {
    std::string line =
        fmt::format("mean {:.3f} of {} pods, target {:.3f}, tolerance {:.0f} %", verdict.mean,
                    verdict.sampled, verdict.target, verdict.tolerance * 100);
    if (verdict.missing > 0) {
      line += fmt::format("; {} without a sample count as {}: {:.3f}", verdict.missing,
                          verdict.mean > verdict.target ? "idle" : "at the target",
                          verdict.mean_with_missing);
    }
    out.push_back(line);
    out.push_back(
        fmt::format("{} pods × {:.3f} / {:.3f} → {}; after the windows {}, after the "
                    "policies {}",
                    verdict.sampled + verdict.missing, verdict.mean_with_missing, verdict.target,
                    verdict.asked, verdict.stabilized, verdict.limited));
  }
  std::string last = fmt::format("{}: {} → {}", scale_reason_name(verdict.reason), verdict.current,
                                 verdict.wanted);
  if (verdict.reason == ScaleReason::kHeld) last += " (" + verdict.holds_down + ")";
  out.push_back(last);
  return out;
}

std::string scale_inputs(const ScaleVerdict& verdict) {
  std::vector<std::string> lines = scale_arithmetic(verdict);
  std::rotate(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(verdict.pods.size()),
              lines.end());
  return fmt::format("{}", fmt::join(lines, "; "));
}

std::optional<Decision> scale_decision(const ScaleVerdict& verdict, WallTime at) {
  if (verdict.wanted == verdict.current) return std::nullopt;
  Decision out;
  out.kind = "Scale";
  out.from = std::to_string(verdict.current);
  out.to = std::to_string(verdict.wanted);
  const bool is_up = verdict.wanted > verdict.current;
  // Windows and policies change how far, not why.
  const bool by_pressure =
      verdict.reason == ScaleReason::kStabilizing || verdict.reason == ScaleReason::kRateLimited;
  out.reason = scale_reason_name(!by_pressure ? verdict.reason
                                 : is_up      ? ScaleReason::kPressureAboveTarget
                                              : ScaleReason::kPressureBelowTarget);
  out.inputs = scale_inputs(verdict);
  out.at = std::chrono::floor<std::chrono::seconds>(at);
  return out;
}

Condition scaling_condition(const AutoscalingSpec& spec, ScaleReason reason) {
  if (reason == ScaleReason::kNoSamples) {
    return {"ScalingActive", ConditionStatus::kFalse, "NoSamples",
            "no pod has a sample of kv_pressure that is fresh; the count stays"};
  }
  if (reason == ScaleReason::kScalingDisabled) {
    return {"ScalingActive", ConditionStatus::kFalse, "ScalingDisabled",
            "the count is 0, or spec.autoscaling.behavior disables the direction"};
  }
  return {"ScalingActive", ConditionStatus::kTrue, "FollowsPressure",
          fmt::format("follows kv_pressure towards {} with {} to {} pods", spec.target_kv_pressure,
                      spec.awake_min(), spec.max_replicas)};
}

}  // namespace kantha::serving
