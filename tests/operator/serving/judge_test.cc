#include "operator/serving/judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "operator/serving/rollout_evidence.h"

namespace kantha::serving {
namespace {

/// Load as a fleet has it: prompts of all sizes, latencies with a long tail, pods a few percent
/// apart, and a ring pod whose callers bring another mix of prompts.
struct Load {
  double requests_per_second = 3;  ///< of each pod
  double ring_ttft = 1;            ///< times that of the old build
  double ring_itl = 1;
  double ring_errors = 0.001;
  double control_errors = 0.001;
  std::int64_t seconds = 600;
};

class Fleet {
 public:
  Fleet(const Load& load, unsigned seed) : load_(load), random_(seed) {
    speeds_.assign(4, 1);
    for (double& speed : speeds_) speed = std::exp(0.02 * normal_(random_));
  }

  /// What came by `until` in the whole bake, judged each 10 s; the last verdict, or the first fail.
  Verdict bake(std::int64_t until) {
    Verdict out;
    for (std::int64_t second = 0; second < until; second += 10) {
      for (std::size_t pod = 0; pod < speeds_.size(); ++pod) serve(pod, 10);
      Evidence evidence{ring_, control_, 1, 3, 0, 0};
      out = judge(evidence, RolloutSpec());
      if (out.kind == VerdictKind::kFail) return out;
    }
    return out;
  }

 private:
  void serve(std::size_t pod, double seconds) {
    const bool is_ring = pod == 0;
    noded::ServiceSample& sample = is_ring ? ring_ : control_;
    std::poisson_distribution<int> arrivals(load_.requests_per_second * seconds);
    for (int i = arrivals(random_); i > 0; --i) serve_one(pod, is_ring, sample);
  }

  void serve_one(std::size_t pod, bool is_ring, noded::ServiceSample& sample) {
    ++sample.answered;
    if (uniform_(random_) < (is_ring ? load_.ring_errors : load_.control_errors)) {
      ++sample.failed;
      return;
    }
    const double size = std::exp((is_ring ? 6.0 : 5.5) + 1.2 * normal_(random_));
    const double speed = speeds_[pod];
    const double ttft = (0.02 + size * 0.0002) * speed * (is_ring ? load_.ring_ttft : 1) *
                        std::exp(0.35 * normal_(random_));
    const double itl =
        0.02 * speed * (is_ring ? load_.ring_itl : 1) * std::exp(0.2 * normal_(random_));
    sample.first_token[noded::prompt_class(static_cast<std::int64_t>(size))].add(in(ttft));
    sample.per_token[0].add(in(itl));
  }

  static Duration in(double seconds) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }

  Load load_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::vector<double> speeds_;
  noded::ServiceSample ring_;
  noded::ServiceSample control_;
};

/// How many of `bakes` end in each verdict.
struct Tally {
  int passed = 0;
  int failed = 0;
  int unsure = 0;
};

Tally tally(const Load& load, int bakes) {
  Tally out;
  for (int i = 0; i < bakes; ++i) {
    const Verdict verdict = Fleet(load, 7000U + static_cast<unsigned>(i)).bake(load.seconds);
    if (verdict.kind == VerdictKind::kPass) ++out.passed;
    if (verdict.kind == VerdictKind::kFail) ++out.failed;
    if (verdict.kind == VerdictKind::kInconclusive) ++out.unsure;
  }
  return out;
}

TEST(Judge, TwoHundredIdenticalBuildsAreNotRolledBack) {
  const Tally seen = tally({}, 200);
  EXPECT_LE(seen.failed, 4) << "2 % of 200";
  EXPECT_GE(seen.passed, 190) << seen.unsure << " unsure";
}

TEST(Judge, AFifthMoreTimeToTheFirstTokenIsCaughtWithTheDefaultBake) {
  const Tally seen = tally({.ring_ttft = 1.2}, 100);
  EXPECT_GE(seen.failed, 95);
}

TEST(Judge, AThirdMoreTimePerTokenIsCaught) { EXPECT_GE(tally({.ring_itl = 1.3}, 40).failed, 39); }

TEST(Judge, OneAnswerInFiftyThatFailsIsNotPassed) {
  const Tally seen = tally({.ring_errors = 0.02, .control_errors = 0}, 60);
  EXPECT_EQ(seen.passed, 0);
  EXPECT_GE(tally({.ring_errors = 0.05, .control_errors = 0}, 60).failed, 57);
}

TEST(Judge, ThinTrafficIsInconclusive) {
  const Tally seen = tally({.requests_per_second = 0.1}, 40);
  EXPECT_EQ(seen.passed, 0);
  EXPECT_LE(seen.failed, 1);
}

TEST(Judge, AServiceThatFailsEverywhereIsNotTheRingsFault) {
  const Tally seen = tally({.ring_errors = 0.2, .control_errors = 0.2}, 60);
  EXPECT_LE(seen.failed, 1);
}

TEST(Judge, RestartsOfTheRingFailIt) {
  Evidence evidence;
  evidence.ring_pods = 1;
  evidence.control_pods = 3;
  evidence.ring_restarts = 1;
  EXPECT_EQ(judge(evidence, RolloutSpec()).kind, VerdictKind::kInconclusive);
  evidence.ring_restarts = 2;
  const Verdict verdict = judge(evidence, RolloutSpec());
  EXPECT_EQ(verdict.kind, VerdictKind::kFail);
  EXPECT_EQ(verdict.message, "2 engine restarts in 1 pods of the ring, 0 in 3 control pods");
  evidence.control_restarts = 3;
  EXPECT_EQ(judge(evidence, RolloutSpec()).kind, VerdictKind::kInconclusive) << "all restart";
}

TEST(Judge, WithoutControlPodsErrorsAloneDecide) {
  Evidence evidence;
  evidence.ring_pods = 2;
  evidence.ring.answered = 1000;
  EXPECT_EQ(judge(evidence, RolloutSpec()).kind, VerdictKind::kPass);
  evidence.ring.failed = 100;
  EXPECT_EQ(judge(evidence, RolloutSpec()).kind, VerdictKind::kFail);
}

TEST(Judge, NoRequestsWantedMeansTimeAlone) {
  RolloutSpec rollout;
  rollout.bake.min_requests = 0;
  EXPECT_EQ(judge(Evidence{}, rollout).kind, VerdictKind::kPass);
}

TEST(RolloutEvidence, CountsFromTheBakesBeginningAndOnlyThen) {
  RolloutState state;
  state.phase = RolloutPhase::kSwapping;
  state.target = "r-a";
  RolloutEvidence evidence;
  const auto pod = [](const char* name, bool ring, std::int64_t answered, std::int64_t restarts = 0,
                      const char* incarnation = "1") {
    PodEvidence out{name, incarnation, ring, {}, restarts, {}};
    out.sample.answered = answered;
    return out;
  };
  evidence.observe(state, {pod("a", true, 50)});
  EXPECT_EQ(evidence.evidence().ring_pods, 0);
  state.phase = RolloutPhase::kBaking;
  evidence.observe(state, {pod("a", true, 60, 1), pod("b", false, 500)});
  evidence.observe(state, {pod("a", true, 70, 1), pod("b", false, 530)});
  EXPECT_EQ(evidence.evidence().ring.answered, 10);
  EXPECT_EQ(evidence.evidence().control.answered, 30);
  EXPECT_EQ(evidence.evidence().ring_restarts, 0);
  evidence.observe(state, {pod("a", true, 4, 0, "2"), pod("b", false, 530)});
  EXPECT_EQ(evidence.evidence().ring.answered, 4) << "another noded counts from 0";
  EXPECT_EQ(evidence.evidence().ring_restarts, 1);
  state.ring = 1;
  evidence.observe(state, {pod("a", true, 9, 0, "2")});
  EXPECT_EQ(evidence.evidence().ring.answered, 0) << "the next ring begins anew";
}

TEST(RolloutEvidence, WhatAPodDidBeforeItFellOverStillCounts) {
  RolloutState state;
  state.phase = RolloutPhase::kBaking;
  RolloutEvidence evidence;
  const auto pass = [&](std::int64_t restarts) {
    evidence.observe(state, {{"a", "1", true, {}, restarts, {}}, {"b", "1", false, {}, 0, {}}});
  };
  pass(0);
  for (std::int64_t restarts : {1, 2}) {
    evidence.observe(state, {{"b", "1", false, {}, 0, {}}});
    EXPECT_EQ(evidence.evidence().ring_pods, 0) << "it is being started again";
    pass(restarts);
  }
  EXPECT_EQ(evidence.evidence().ring_pods, 1);
  EXPECT_EQ(evidence.evidence().ring_restarts, 2);
  EXPECT_EQ(judge(evidence.evidence(), RolloutSpec()).kind, VerdictKind::kFail);
}

/// Looks at a ring pod and a control pod that hold these shares of their blocks.
Verdict judge_kv(const std::vector<double>& ring, const std::vector<double>& control,
                 std::int64_t ring_streams = 2, std::int64_t control_streams = 2) {
  RolloutState state;
  state.phase = RolloutPhase::kBaking;
  RolloutSpec rollout;
  rollout.bake.min_requests = 0;
  RolloutEvidence evidence;
  TimePoint at{};
  for (std::size_t i = 0; i < ring.size(); ++i) {
    at += std::chrono::seconds(1);
    evidence.observe(state, {{"a", "1", true, {}, 0, {at, ring[i], ring_streams}},
                             {"b", "1", false, {}, 0, {at, control[i], control_streams}}});
    // The same answer again says nothing new.
    evidence.observe(state, {{"a", "1", true, {}, 0, {at, ring[i], ring_streams}},
                             {"b", "1", false, {}, 0, {at, control[i], control_streams}}});
  }
  return judge(evidence.evidence(), rollout);
}

TEST(Judge, KvBlocksThatAreNotGivenBackFailTheRing) {
  const Verdict leak = judge_kv({0.1, 0.3, 0.4, 0.5, 0.6}, {0.02, 0.1, 0.04, 0.02, 0.03});
  EXPECT_EQ(leak.kind, VerdictKind::kFail);
  EXPECT_EQ(leak.message,
            "KV blocks are not given back: 30 % stay in use in a pod of the ring, 2 % on control "
            "pods");
}

TEST(Judge, ABusyRingDoesNotLeak) {
  const std::vector<double> low(5, 0.05);
  EXPECT_EQ(judge_kv({0.9, 0.9, 0.04, 0.9, 0.9}, low).kind, VerdictKind::kPass) << "it went down";
  EXPECT_EQ(judge_kv({0.9, 0.9, 0.9}, {0.1, 0.1, 0.1}).kind, VerdictKind::kPass) << "too few looks";
  EXPECT_EQ(judge_kv(std::vector<double>(5, 0.6), low, 47).kind, VerdictKind::kPass)
      << "as much for each request";
  EXPECT_EQ(judge_kv(std::vector<double>(5, 0.7), std::vector<double>(5, 0.6)).kind,
            VerdictKind::kPass)
      << "all are full";
}

}  // namespace
}  // namespace kantha::serving
