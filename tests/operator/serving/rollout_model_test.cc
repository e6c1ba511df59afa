#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "operator/serving/plan_workload.h"
#include "tests/operator/serving/rollout_world.h"

/// Every state that four pods and three rings can get into by passes of the operator, pods that
/// come up, crash or are lost, edits of the spec, scaling, time and verdicts: the promises of
/// plan_rollout.h hold in all of them. Times are kept as "just now" or "long ago", which is all
/// that the plan reads of them.
namespace kantha::serving {
namespace {

const WallTime kNow = WallTime{} + std::chrono::hours(1000);
constexpr std::int64_t kLongAgo = 2000;  // seconds: over the longest bake, within the deadline

struct ModelState {
  RolloutWorld world;
  int edits_left = 2;

  std::string key() const {
    std::string out;
    for (std::int64_t i = 0; i < 4; ++i) {
      const ModelPod& pod = world.pods[static_cast<std::size_t>(i)];
      out += std::to_string(static_cast<int>(pod.is)) + pod.told + ",";
    }
    const RolloutState& state = world.state;
    out += world.target + "|" + std::to_string(world.serving.replicas_or_default());
    out += "|" + state.target + "|" + state.good_spec + "|" +
           std::string(rollout_phase_name(state.phase));
    out += "|" + std::to_string(state.ring) + "/" + std::to_string(state.ring_size) + "/" +
           std::to_string(state.extensions) + "|" + state.progress + "|";
    out += state.since == kNow ? "n" : "o";
    out += "|" + state.image_wait + (state.image_wait_since == WallTime{} ? "" : "+") + "|";
    for (const std::string& node : world.pull_on) out += node.back();
    out += "|";
    for (const auto* nodes : {&world.have_image, &world.failed_pulls}) {
      for (const std::string& node : *nodes) out += node.back();
      out += "|";
    }
    return out + std::to_string(edits_left);
  }
};

/// Pods that serve, surplus ones left out: ordinals have gaps, so it is not said which they are.
std::int64_t serving_count(const RolloutWorld& world) {
  return std::min(world.ready_count(), world.serving.replicas_or_default());
}

std::int64_t pod_count(const RolloutWorld& world) {
  return std::count_if(world.pods.begin(), world.pods.end(),
                       [](const ModelPod& pod) { return pod.is != PodIs::kAbsent; });
}

/// One pass, and what has to hold of it.
void checked_pass(RolloutWorld& world) {
  const std::string before_key = world.state.target;
  const std::string good = world.state.good_spec;
  const RolloutPhase phase_before = world.state.phase;
  const std::int64_t wanted = world.serving.replicas_or_default();
  const std::int64_t ready = serving_count(world);
  const std::int64_t on_target = world.count(world.target);
  const std::vector<ModelPod> pods_before = world.pods;
  world.events.clear();
  world.pass();
  for (std::size_t i = 0; world.nodes_pull && i < pods_before.size(); ++i) {
    const ModelPod& was = pods_before[i];
    const bool is_told = was.told != world.target && world.pods[i].told == world.target;
    const bool was_good = was.told == good;  // told an earlier target it moves at once
    if (is_told && was_good)
      EXPECT_TRUE(world.have_image.contains("node-" + std::to_string(i))) << "too early";
  }
  const RolloutState& state = world.state;
  const std::int64_t taken = ready - serving_count(world);
  EXPECT_LE(taken, std::max<std::int64_t>(0, 1 - (wanted - ready))) << "over the budget";
  const bool has_failed =
      state.phase == RolloutPhase::kRollingBack || state.phase == RolloutPhase::kRolledBack;
  if (has_failed) EXPECT_LE(world.count(world.target), on_target) << "a failure widens";
  if (is_under_way(state)) {
    const std::int64_t allowed = state.ring_size == 0 ? wanted : std::min(state.ring_size, wanted);
    EXPECT_LE(world.count(world.target), std::max(allowed, on_target)) << "over the ring";
  }
  const bool waits = world.split && !world.split->not_yet.empty();
  const bool held = has_failed || is_judged(state) || waits;
  if (held) {
    EXPECT_EQ(gate_condition(state, world.serving).status, ConditionStatus::kTrue) << "no word";
  }
  const bool was_rolled_back =
      phase_before == RolloutPhase::kRolledBack || phase_before == RolloutPhase::kRollingBack;
  if (was_rolled_back && before_key == rollout_key({world.target, "p"})) {
    EXPECT_TRUE(has_failed) << "a failed revision is tried again";
  }
}

ModelState aged(ModelState state) {
  state.world.state.since = kNow - std::chrono::seconds(kLongAgo);
  if (state.world.state.progress_at != WallTime{}) {
    state.world.state.progress_at = kNow - std::chrono::seconds(kLongAgo);
  }
  return state;
}

/// All that may happen next.
std::vector<ModelState> successors(const ModelState& from) {
  std::vector<ModelState> out;
  using enum VerdictKind;
  for (const VerdictKind verdict : {kNone, kPass, kFail, kInconclusive}) {
    if (verdict != kNone && !is_judged(from.world.state)) continue;
    ModelState next = from;
    next.world.verdict = {verdict, "v"};
    checked_pass(next.world);
    next.world.verdict = {};
    out.push_back(std::move(next));
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const ModelPod& pod = from.world.pods[i];
    if (pod.is == PodIs::kStarting) {
      ModelState next = from;
      next.world.pods[i].is = RolloutWorld::can_run(pod.told) ? PodIs::kReady : PodIs::kCrashing;
      out.push_back(std::move(next));
    } else if (pod.is == PodIs::kReady && from.world.ready_count() > 2) {
      ModelState next = from;
      next.world.pods[i] = {};
      out.push_back(std::move(next));
    }
  }
  if (!from.world.pull_on.empty()) {
    ModelState next = from;
    next.world.settle_nodes();
    out.push_back(std::move(next));
  }
  if (from.world.state.since == kNow) out.push_back(aged(from));
  if (from.edits_left > 0) {
    for (const char* target : {"good", "bad", "new", "absent"}) {
      if (from.world.target == target) continue;
      if (!from.world.nodes_pull && std::string(target) == "absent") continue;
      ModelState next = from;
      next.world.set_target(target);
      --next.edits_left;
      out.push_back(std::move(next));
    }
    for (const std::int64_t replicas : {3, 4}) {
      if (from.world.serving.spec.replicas == replicas) continue;
      ModelState next = from;
      next.world.serving.spec.replicas = replicas;
      --next.edits_left;
      out.push_back(std::move(next));
    }
  }
  return out;
}

bool is_at_rest(const ModelState& state) {
  const RolloutWorld& world = state.world;
  const std::int64_t wanted = world.serving.replicas_or_default();
  const std::string runs = world.state.phase == RolloutPhase::kDone         ? world.target
                           : world.state.phase == RolloutPhase::kRolledBack ? world.state.good_spec
                                                                            : std::string();
  return !runs.empty() && pod_count(world) == wanted && world.ready_count() == wanted &&
         world.count(runs) == wanted;
}

/// With pods that obey, time that passes and verdicts, every state comes to rest; a bad revision on
/// the last good one.
bool comes_to_rest(ModelState state, std::unordered_set<std::string>& known) {
  std::vector<std::string> path;
  for (int round = 0; round < 40; ++round) {
    if (is_at_rest(state) || known.contains(state.key())) {
      known.insert(path.begin(), path.end());
      return true;
    }
    path.push_back(state.key());
    state.world.verdict = {VerdictKind::kPass, "v"};
    state.world.step();
    state.world.verdict = {};
    state = aged(std::move(state));
  }
  return false;
}

/// Bad evidence on every ring leads to the last good revision, from everywhere.
bool goes_back(ModelState state, std::unordered_set<std::string>& known) {
  std::vector<std::string> path;
  const std::string good = state.world.state.good_spec;
  for (int round = 0; round < 40; ++round) {
    const bool back = is_at_rest(state) && state.world.count(state.world.state.good_spec) > 0;
    if (back || known.contains(state.key())) {
      known.insert(path.begin(), path.end());
      return true;
    }
    path.push_back(state.key());
    state.world.verdict = {VerdictKind::kFail, "v"};
    state.world.step();
    state.world.verdict = {};
    state = aged(std::move(state));
  }
  return false;
}

struct Walked {
  std::size_t states = 0;
  std::size_t waits = 0;  ///< in which a ring has begun and a pod of it waits for an image
};

/// Walks through all states.
Walked walk(ModelState start) {
  start.world.now = kNow;
  start.world.serving.spec.rollout.progress_deadline_seconds = 10'000;
  start.world.state.since = kNow;
  std::unordered_set<std::string> seen = {start.key()};
  std::unordered_set<std::string> rests;
  std::unordered_set<std::string> backs;
  std::deque<ModelState> open = {start};
  Walked out;
  while (!open.empty() && !testing::Test::HasFailure()) {
    const ModelState state = std::move(open.front());
    open.pop_front();
    out.waits += state.world.state.image_wait.empty() ? 0 : 1;
    EXPECT_TRUE(comes_to_rest(state, rests)) << "stuck: " << state.key();
    EXPECT_TRUE(goes_back(state, backs)) << "no way back: " << state.key();
    for (ModelState& next : successors(state)) {
      EXPECT_FALSE(testing::Test::HasFailure()) << "from " << state.key();
      next.world.events.clear();
      if (seen.insert(next.key()).second) open.push_back(std::move(next));
    }
  }
  out.states = seen.size();
  std::printf("%zu states, %zu wait for an image\n", out.states, out.waits);
  return out;
}

TEST(RolloutModel, EveryReachableStateKeepsThePromises) {
  EXPECT_GT(walk({RolloutWorld(4)}).states, 2'000U) << "the model shrank";
}

/// With nodes that have to pull the image first, and one that is nowhere.
TEST(RolloutModel, EveryReachableStateKeepsThemWhileImagesArePulled) {
  ModelState start{RolloutWorld(3), 2};
  start.world.nodes_pull = true;
  const Walked walked = walk(std::move(start));
  EXPECT_GT(walked.states, 50'000U) << "the model shrank";
  EXPECT_GT(walked.waits, 500U) << "replicas change while a ring moves";
}

}  // namespace
}  // namespace kantha::serving
