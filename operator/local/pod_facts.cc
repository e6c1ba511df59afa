#include "operator/local/pod_facts.h"

#include "operator/serving/plan_victims.h"

namespace kantha::local {
namespace {

using noded::EnginePhase;

bool is_fresh(const PodFacts& facts, TimePoint now) {
  return facts.running && facts.state && now - facts.state_at <= kStateFreshFor;
}

/// Its engine is ready, and its golden prompts are not all answered.
bool is_being_tested(const PodFacts& facts) {
  return facts.state && facts.state->phase == EnginePhase::kReady && facts.state->golden &&
         !facts.state->golden->done;
}

std::string why_not_ready(const PodFacts& facts, TimePoint now) {
  if (!facts.running) {
    return facts.last_exit.empty() ? "not started" : "noded ended: " + facts.last_exit;
  }
  if (!is_fresh(facts, now)) {
    return facts.unreachable.empty() ? "no answer yet" : "noded: " + facts.unreachable;
  }
  if (is_being_tested(facts)) return "its golden prompts are asked";
  if (!facts.state->message.empty()) return facts.state->message;
  return "engine " + std::string(noded::engine_phase_name(facts.state->phase));
}

bool is_failing(const PodFacts& facts, TimePoint now) {
  if (facts.terminating || facts.drain_deadline) return false;
  if (!facts.running) return !facts.last_exit.empty();
  if (!is_fresh(facts, now)) return facts.state.has_value();
  return facts.state->phase == EnginePhase::kBackoff ||
         facts.state->phase == EnginePhase::kCrashLoop;
}

/// A noded that ends again and again may do so because of what it was told, too.
bool is_crash_looping(const PodFacts& facts, TimePoint now) {
  constexpr std::int64_t kEndsMax = 3;
  if (facts.terminating || facts.drain_deadline) return false;
  if (!facts.running) return facts.noded_restarts + 1 >= kEndsMax && !facts.last_exit.empty();
  // Of an engine that had what the pod was told last.
  return is_fresh(facts, now) && facts.state->phase == EnginePhase::kCrashLoop &&
         facts.state->config_hash == facts.told_config_hash;
}

}  // namespace

serving::ObservedPod observe(const PodFacts& facts, TimePoint now) {
  const bool fresh = is_fresh(facts, now);
  serving::ObservedPod pod;
  pod.name = facts.name;
  pod.ordinal = facts.ordinal;
  pod.pod_revision = facts.pod_revision;
  pod.told_revision = facts.told_revision;
  if (fresh && !facts.state->config_hash.empty()) {
    const bool as_told = facts.state->config_hash == facts.told_config_hash;
    pod.revision = as_told ? facts.told_revision : facts.state->config_hash;
  }
  pod.ready = fresh && facts.state->phase == EnginePhase::kReady && !is_being_tested(facts);
  if (fresh && facts.state->golden && facts.state->golden->failed > 0) {
    pod.wrong_output = facts.state->golden->message;
  }
  pod.draining =
      facts.drain_deadline.has_value() || (fresh && facts.state->phase == EnginePhase::kDraining);
  pod.drain_deadline = facts.drain_deadline;
  pod.terminating = facts.terminating;
  if (!facts.running) {
    pod.streams = 0;
  } else if (fresh) {
    // "No streams" of a pod that was told to drain counts once the pod itself says it drains:
    // until then it may still take one.
    const bool obeys = !facts.drain_deadline || facts.state->phase == EnginePhase::kDraining ||
                       facts.state->phase == EnginePhase::kStopped;
    if (facts.state->streams > 0 || obeys) pod.streams = facts.state->streams;
  }
  if (fresh) {
    pod.warm = serving::warm_share(*facts.state);
    pod.kv = serving::kv_demand(*facts.state);
  }
  pod.failing = is_failing(facts, now);
  pod.crash_looping = is_crash_looping(facts, now);
  if (!pod.ready) pod.message = why_not_ready(facts, now);
  return pod;
}

std::string phase_word(const PodFacts& facts, TimePoint now) {
  if (facts.terminating) return "ending";
  if (facts.drain_deadline) return "draining";
  if (!facts.running) return facts.last_exit.empty() ? "starting" : "down";
  if (!is_fresh(facts, now)) return facts.state ? "unreachable" : "starting";
  const bool ready = facts.state->phase == EnginePhase::kReady;
  if (ready && facts.state->config_hash != facts.told_config_hash) return "restarting";
  return std::string(noded::engine_phase_name(facts.state->phase));
}

}  // namespace kantha::local
