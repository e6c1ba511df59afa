#include "noded/gateway/forward_target.h"

#include "base/net/task_group.h"

namespace kantha::noded {

TargetChoice LocalTarget::choose(const TargetAsk& ask) {
  const EnginePhase phase = gate_.phase();
  if (phase == EnginePhase::kReady && ask.local_allowed) {
    return {.target = ForwardTarget{.name = kLocalTargetName, .endpoint = gate_.endpoint()},
            .hopeless = false,
            .why = {}};
  }
  // A loop may end, which a stream that has begun waits for; an engine that was stopped for good
  // does not come back.
  const bool hopeless =
      phase == EnginePhase::kStopped || (phase == EnginePhase::kCrashLoop && !ask.is_running);
  return {.target = std::nullopt, .hopeless = hopeless, .why = "no engine: " + gate_.message()};
}

net::Task<void> LocalTarget::wait_for_change(Duration timeout) {
  // The gate does not wait for an engine that is ready, nor for one in a crash loop.
  const EnginePhase phase = gate_.phase();
  if (phase == EnginePhase::kReady || phase == EnginePhase::kCrashLoop) {
    co_await net::sleep_for(timeout);
  } else {
    co_await gate_.wait_ready(timeout);
  }
}

void LocalTarget::ended(const ForwardTarget&, TargetEnd end) {
  if (end != TargetEnd::kAnswered && end != TargetEnd::kRecalled) gate_.suspect();
}

EngineEnds LocalTarget::ends(const ForwardTarget&) const { return gate_.ends(); }

}  // namespace kantha::noded
