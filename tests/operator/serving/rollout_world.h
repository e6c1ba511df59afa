#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "operator/serving/plan_rollout.h"

/// A little world for rollouts: pods that obey, a clock that is told, and the planner between them.
/// Revisions are single words; "bad…" ones crash when they start, images of "absent…" ones are
/// nowhere.
namespace kantha::serving {

enum class PodIs : std::uint8_t { kAbsent, kStarting, kReady, kCrashing };

struct ModelPod {
  PodIs is = PodIs::kAbsent;
  std::string told;
  bool operator==(const ModelPod&) const = default;
};

class RolloutWorld {
 public:
  /// All pods run `good`, which is the last good revision.
  explicit RolloutWorld(std::int64_t replicas, std::string good = "good")
      : pods(static_cast<std::size_t>(kPodsMax)) {
    serving.metadata.name = "m";
    serving.spec.replicas = replicas;
    serving.spec.rollout.rings = {
        {"canary", {1, false}}, {"half", {50, true}}, {"all", {100, true}}};
    serving.spec.rollout.bake = {600, 200};
    serving.spec.rollout.progress_deadline_seconds = 900;
    for (std::int64_t i = 0; i < replicas; ++i)
      pods[static_cast<std::size_t>(i)] = {PodIs::kReady, good};
    target = good;
    state.phase = RolloutPhase::kDone;
    state.good_spec = state.target = good;
    state.target = rollout_key({good, "p"});
    state.last_good = short_revision(good);
  }

  Observed observed() const {
    Observed out;
    out.serving = serving;
    out.target = {target, "p"};
    for (std::size_t i = 0; i < pods.size(); ++i) {
      const ModelPod& pod = pods[i];
      if (pod.is == PodIs::kAbsent) continue;
      ObservedPod seen;
      seen.ordinal = static_cast<std::int64_t>(i);
      seen.name = "m-" + std::to_string(i);
      seen.pod_revision = "p";
      seen.told_revision = pod.told;
      seen.ready = pod.is == PodIs::kReady;
      if (seen.ready) seen.revision = pod.told;
      seen.streams = 0;
      seen.crash_looping = seen.failing = pod.is == PodIs::kCrashing;
      if (seen.failing) seen.message = "exit 3";
      if (nodes_pull) {
        seen.node = "node-" + std::to_string(i);
        seen.lacks_image = pod.told != target && !have_image.contains(seen.node);
        if (seen.lacks_image && failed_pulls.contains(seen.node)) seen.pull_failure = "not there";
      }
      out.pods.push_back(seen);
    }
    return out;
  }

  /// One pass: the rollout, the plan, the deeds.
  void pass() {
    Observed seen = observed();
    std::optional<Revision> good;
    if (!state.good_spec.empty()) good = Revision{state.good_spec, "p"};
    RolloutStep step = plan_rollout(state, {seen, good, target, verdict, resolved_image}, now);
    state = step.state;
    pull_on = step.pull_on;
    // What pulled there is gone, and nothing says any more that a node has it.
    std::erase_if(have_image, [&](const auto& node) { return !step.keep_pulled.contains(node); });
    for (RolloutEvent& event : step.events) events.push_back(std::move(event));
    seen.split = split = step.split;
    last_plan = plan(seen, TimePoint{});
    for (const Action& action : last_plan.actions) obey(action);
  }

  void set_target(const std::string& revision) {
    target = revision;
    have_image.clear();
    failed_pulls.clear();
  }
  /// Nodes get the image that they were told to pull; of a target "absent…" there is none.
  void settle_nodes() {
    std::set<std::string>& out = target.starts_with("absent") ? failed_pulls : have_image;
    out.insert(pull_on.begin(), pull_on.end());
  }

  static bool can_run(const std::string& revision) {
    return !revision.starts_with("bad") && !revision.starts_with("absent");
  }

  /// Pods that start get where they are going.
  void settle_pods() {
    for (ModelPod& pod : pods) {
      if (pod.is != PodIs::kStarting) continue;
      pod.is = can_run(pod.told) ? PodIs::kReady : PodIs::kCrashing;
    }
  }

  void step() {
    pass();
    settle_nodes();
    settle_pods();
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }
  void wait(std::int64_t seconds) { now += std::chrono::seconds(seconds); }

  std::int64_t count(const std::string& told) const {
    std::int64_t out = 0;
    for (const ModelPod& pod : pods) out += pod.is != PodIs::kAbsent && pod.told == told ? 1 : 0;
    return out;
  }
  std::int64_t ready_count() const {
    std::int64_t out = 0;
    for (const ModelPod& pod : pods) out += pod.is == PodIs::kReady ? 1 : 0;
    return out;
  }
  std::string phase() const { return std::string(rollout_phase_name(state.phase)); }
  bool has_event(const std::string& reason) const {
    for (const RolloutEvent& event : events) {
      if (event.reason == reason) return true;
    }
    return false;
  }

  static constexpr std::int64_t kPodsMax = 10;
  ModelServing serving;
  std::vector<ModelPod> pods;
  std::string target;
  RolloutState state;
  Verdict verdict;
  WallTime now = WallTime{} + std::chrono::hours(1000);
  std::optional<RevisionSplit> split;
  Plan last_plan;
  std::vector<RolloutEvent> events;
  bool nodes_pull =
      false;  ///< each pod is on a node of its own, which has no image of a new target
  std::set<std::string> have_image;    ///< nodes that have the target's
  std::set<std::string> failed_pulls;  ///< nodes that cannot get it
  std::vector<std::string> pull_on;    ///< nodes that were told to pull it
  std::string resolved_image;

 private:
  void obey(const Action& action) {
    ModelPod& pod = pods[static_cast<std::size_t>(action.ordinal)];
    if (action.kind == ActionKind::kCreatePod || action.kind == ActionKind::kRestartEngine) {
      pod = {PodIs::kStarting, action.to_last_good ? split->last_good.whole : target};
    } else {
      pod = {};
    }
  }
};

}  // namespace kantha::serving
