#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/rng.h"
#include "operator/serving/plan.h"

/// The planner in a small simulated world: pods start, answer, crash and drain at random; the spec
/// is edited at random; then the edits stop and the world has to come to rest.
namespace kantha::serving {
namespace {

using namespace std::chrono_literals;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_bits(seed_, counter_++) %
                                     static_cast<std::uint64_t>(bound));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }

 private:
  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
};

/// A pod and the little physics it has.
struct SimPod {
  ObservedPod seen;
  std::int64_t steps_left = 0;  ///< until the present start or end is over
};

class World {
 public:
  explicit World(std::uint64_t seed) : dice_(seed) {
    observed_.serving.metadata.name = "m";
    observed_.serving.spec.replicas = 1 + dice_.below(5);
    observed_.serving.spec.rollout.max_unavailable = {1 + dice_.below(2), false};
    observed_.target = {"rev0", "pod0"};
  }

  void edit_spec() {
    // Now and then somebody else holds a pod's name for a while.
    observed_.blocked.clear();
    if (dice_.one_in(3)) observed_.blocked.push_back(dice_.below(6));
    switch (dice_.below(4)) {
      case 0: observed_.serving.spec.replicas = dice_.below(6); break;
      case 1: observed_.target.whole = "rev" + std::to_string(++edits_); break;
      case 2:
        observed_.target = {"rev" + std::to_string(++edits_), "pod" + std::to_string(edits_)};
        break;
      default: observed_.serving.spec.rollout.max_unavailable = {1 + dice_.below(3), false};
    }
  }

  void pass() {
    observed_.pods.clear();
    for (const auto& [ordinal, pod] : pods_) observed_.pods.push_back(pod.seen);
    const Plan made = plan(observed_, now_);
    check_budget(made);
    for (const Action& action : made.actions) apply(action);
    settled_ = made.settled && made.actions.empty();
  }

  void let_time_pass(bool trouble) {
    now_ += 1s;
    for (auto it = pods_.begin(); it != pods_.end();) {
      if (step(it->second, trouble)) {
        it = pods_.erase(it);
      } else {
        ++it;
      }
    }
  }

  void free_names() { observed_.blocked.clear(); }

  bool settled() const { return settled_; }

  /// Everything wanted runs the target, and nothing else is there.
  void check_converged() const {
    EXPECT_EQ(static_cast<std::int64_t>(pods_.size()), *observed_.serving.spec.replicas);
    for (const auto& [ordinal, pod] : pods_) {
      EXPECT_TRUE(is_available(pod.seen));
      EXPECT_EQ(pod.seen.revision, observed_.target.whole);
      EXPECT_EQ(pod.seen.pod_revision, observed_.target.pod);
    }
  }

 private:
  void check_budget(const Plan& made) const {
    for (const Action& action : made.actions) {
      const bool blocked =
          std::count(observed_.blocked.begin(), observed_.blocked.end(), action.ordinal) > 0;
      EXPECT_FALSE(blocked && action.kind == ActionKind::kCreatePod) << "the name is taken";
    }
    std::int64_t available = made.counts.available;
    const std::int64_t before = available;
    std::map<std::string, int> deeds;
    for (const Action& action : made.actions) {
      EXPECT_EQ(++deeds[action.pod], 1) << "two deeds on " << action.pod;
      const auto pod = pods_.find(action.ordinal);
      if (action.kind == ActionKind::kCreatePod) {
        EXPECT_EQ(pod, pods_.end()) << "made twice";
        continue;
      }
      ASSERT_NE(pod, pods_.end());
      EXPECT_FALSE(pod->second.seen.terminating);
      if (is_available(pod->second.seen)) --available;
      if (action.kind == ActionKind::kDeletePod) {
        const ObservedPod& seen = pod->second.seen;
        EXPECT_TRUE(seen.streams.value_or(0) == 0 || (seen.drain_deadline <= now_))
            << "a stream was cut before its deadline";
      }
    }
    const std::int64_t floor =
        *observed_.serving.spec.replicas - observed_.serving.spec.rollout.max_unavailable.value;
    EXPECT_GE(available, std::min(before, floor)) << "too many ready pods taken down";
  }

  void apply(const Action& action) {
    if (action.kind == ActionKind::kCreatePod) {
      SimPod& pod = pods_[action.ordinal];
      pod.seen.ordinal = action.ordinal;
      pod.seen.name = action.pod;
      pod.seen.pod_revision = observed_.target.pod;
      pod.seen.told_revision = observed_.target.whole;
      pod.steps_left = 1 + dice_.below(4);
      return;
    }
    SimPod& pod = pods_.at(action.ordinal);
    if (action.kind == ActionKind::kDrainPod) {
      pod.seen.draining = true;
      pod.seen.drain_deadline = now_ + std::chrono::seconds(dice_.below(10));
    } else if (action.kind == ActionKind::kDeletePod) {
      pod.seen.terminating = true;
      pod.seen.ready = false;
      pod.steps_left = dice_.below(3);
    } else {
      pod.seen.told_revision = observed_.target.whole;
      pod.steps_left = 1 + dice_.below(4);
    }
  }

  /// True when the pod is gone.
  bool step(SimPod& pod, bool trouble) {
    if (pod.seen.terminating) return pod.steps_left-- <= 0;
    if (pod.seen.streams.value_or(0) > 0) pod.seen.streams = *pod.seen.streams - dice_.below(2);
    if (trouble && dice_.one_in(60)) {  // evicted: nothing starts in it again
      pod.seen.ready = false;
      pod.seen.failing = true;
      pod.seen.draining = false;
      pod.seen.streams = 0;
      pod.seen.replace_at = now_ + std::chrono::seconds(dice_.below(5));
    }
    if (pod.seen.replace_at) return false;
    if (trouble && dice_.one_in(15)) {
      pod.seen.ready = false;
      pod.seen.failing = true;
      pod.seen.streams = 0;
      pod.steps_left = 1 + dice_.below(6);
    }
    const bool busy = !pod.seen.ready || pod.seen.revision != pod.seen.told_revision;
    if (busy && --pod.steps_left <= 0) {
      pod.seen.ready = true;
      pod.seen.failing = false;
      pod.seen.revision = pod.seen.told_revision;
      pod.seen.streams = 0;
    }
    if (pod.seen.ready && !pod.seen.draining && dice_.one_in(2)) pod.seen.streams = dice_.below(4);
    return false;
  }

  Dice dice_;
  Observed observed_;
  std::map<std::int64_t, SimPod> pods_;
  TimePoint now_ = TimePoint{} + 100s;
  int edits_ = 0;
  bool settled_ = false;
};

TEST(PlanProperty, NeverTakesTooMuchDownAndComesToRest) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed);
    for (int i = 0; i < 120; ++i) {
      if (i % 10 == 9) world.edit_spec();
      world.pass();
      world.let_time_pass(/*trouble=*/true);
    }
    world.free_names();
    int steps = 0;
    do {
      world.let_time_pass(/*trouble=*/false);
      world.pass();
    } while (++steps < 300 && !world.settled());
    ASSERT_LT(steps, 300) << "did not come to rest";
    world.check_converged();
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace kantha::serving
