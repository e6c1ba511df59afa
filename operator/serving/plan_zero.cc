#include "operator/serving/plan_zero.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace kantha::serving {
namespace {

std::int64_t whole_seconds(Duration span) {
  return std::chrono::duration_cast<std::chrono::seconds>(span).count();
}

std::string waiting_text(const ZeroDoor& door) {
  return fmt::format("{} {} for a pod", door.waiting,
                     door.waiting == 1 ? "request waits" : "requests wait");
}

ZeroStep asleep(const ZeroInput& input) {
  ZeroStep out;
  out.wants_door = true;
  out.reason = input.door.is_there ? ZeroReason::kAsleep : ZeroReason::kNoDoor;
  if (input.door.waiting == 0) return out;
  out.reason = ZeroReason::kRequestsWait;
  out.replicas = 1;
  out.inputs = waiting_text(input.door);
  return out;
}

/// Since the last request that anybody knows of; nullopt: somebody does not say.
std::optional<Duration> idle_time(const ZeroInput& input, Duration awake, std::string& unknown) {
  Duration out = awake;
  for (const ZeroPod& pod : input.pods) {
    if (!pod.idle) {
      unknown = pod.name;
      return std::nullopt;
    }
    out = std::min(out, *pod.idle);
  }
  if (!input.door.idle) {
    unknown = "the activator";
    return std::nullopt;
  }
  return input.door.waiting > 0 ? Duration::zero() : std::min(out, *input.door.idle);
}

/// Nobody asks for anything: the door first, then the pods.
void fall_asleep(ZeroStep& out, const ZeroInput& input, TimePoint now, const ZeroTimes& times) {
  out.wants_door = true;
  out.reason = ZeroReason::kOpening;
  if (!input.door.is_open) {
    out.memory.open_since.reset();
    return;
  }
  if (!out.memory.open_since) out.memory.open_since = now;
  const Duration left = *out.memory.open_since + times.spread - now;
  if (left > Duration::zero()) {
    out.look_again = left;
    return;
  }
  out.reason = ZeroReason::kIdle;
  out.replicas = 0;
}

}  // namespace

std::string_view zero_reason_name(ZeroReason reason) {
  switch (reason) {
    case ZeroReason::kAsleep: return "Asleep";
    case ZeroReason::kRequestsWait: return "RequestsWait";
    case ZeroReason::kWaking: return "Waking";
    case ZeroReason::kBusy: return "Busy";
    case ZeroReason::kUnknown: return "Unknown";
    case ZeroReason::kHeld: return "Held";
    case ZeroReason::kNoDoor: return "NoActivator";
    case ZeroReason::kOpening: return "Opening";
    case ZeroReason::kIdle: return "Idle";
  }
  return "?";
}

ZeroStep plan_zero(const ZeroMemory& memory, const ZeroInput& input, TimePoint now,
                   const ZeroTimes& times) {
  if (input.replicas == 0) return asleep(input);
  ZeroStep out;
  out.memory = memory;
  if (input.available == 0) {
    out.memory = {};
    out.reason = ZeroReason::kWaking;
    out.wants_door = true;
    return out;
  }
  if (!out.memory.awake_since) out.memory.awake_since = now;
  const Duration awake = now - *out.memory.awake_since;
  if (awake < times.settle) {
    out.wants_door = true;
    out.look_again = times.settle - awake;
  }
  const auto stays = [&](ZeroReason reason, std::string why) {
    out.reason = reason;
    out.inputs = std::move(why);
    out.memory.open_since.reset();
    return out;
  };
  if (!input.door.is_there) return stays(ZeroReason::kNoDoor, "no activator answers");
  if (!input.holds.empty()) return stays(ZeroReason::kHeld, input.holds);
  std::string unknown;
  const std::optional<Duration> idle = idle_time(input, awake, unknown);
  if (!idle) return stays(ZeroReason::kUnknown, unknown + " does not say when it was asked last");
  const Duration patience = std::chrono::seconds(input.spec.idle_seconds);
  std::string figures = fmt::format("no request for {} s, idleSeconds {}", whole_seconds(*idle),
                                    input.spec.idle_seconds);
  if (*idle < patience) {
    const Duration left = patience - *idle;
    out.look_again = out.look_again ? std::min(*out.look_again, left) : left;
    return stays(ZeroReason::kBusy, std::move(figures));
  }
  out.inputs = std::move(figures);
  fall_asleep(out, input, now, times);
  return out;
}

std::optional<Decision> zero_decision(const ZeroStep& step, std::int64_t from, WallTime at) {
  if (!step.replicas || *step.replicas == from) return std::nullopt;
  Decision out;
  out.kind = "Scale";
  out.from = std::to_string(from);
  out.to = std::to_string(*step.replicas);
  out.reason = zero_reason_name(step.reason);
  out.inputs = step.inputs;
  out.at = std::chrono::floor<std::chrono::seconds>(at);
  return out;
}

std::optional<Condition> with_zero(const ZeroStep& step, std::optional<Condition> otherwise) {
  const auto say = [](ConditionStatus status, const char* reason, const char* message) {
    return Condition{"ScalingActive", status, reason, message};
  };
  switch (step.reason) {
    case ZeroReason::kAsleep:
      return say(ConditionStatus::kTrue, "ScaledToZero",
                 "asleep: the next request waits while a pod starts");
    case ZeroReason::kRequestsWait:
    case ZeroReason::kWaking:
      return say(ConditionStatus::kTrue, "Waking", "requests wait while a pod starts");
    case ZeroReason::kNoDoor:
      return say(ConditionStatus::kFalse, "NoActivator",
                 "no activator answers, which minReplicas 0 needs: pods that run go on, and none "
                 "is started for a request (chart: activator.enabled)");
    default: return otherwise;
  }
}

}  // namespace kantha::serving
