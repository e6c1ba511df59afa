#include "noded/engine/supervise_step.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kantha::noded {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// Drives the machine on virtual time and keeps what it asked for.
class Machine {
 public:
  explicit Machine(SupervisePolicy policy = {}) : policy_(policy) {}

  std::vector<SuperviseAction> step(SuperviseInput input = {}) {
    input.now = now_;
    SuperviseOutput out = supervise_step(state_, input, policy_);
    state_ = out.state;
    return out.actions;
  }
  std::vector<SuperviseAction> ended(int code, int signal = 0) {
    SuperviseInput input;
    input.ended = ProcessExit{code, signal};
    return step(input);
  }
  std::vector<SuperviseAction> probe(ProbeAnswer answer) {
    SuperviseInput input;
    input.probe = answer;
    return step(input);
  }
  void advance(Duration by) { now_ += by; }
  /// Steps every tick until the engine is started again; gives the waiting time.
  Duration until_start() {
    const TimePoint from = now_;
    for (int i = 0; i < 100'000; ++i) {
      for (const SuperviseAction action : step()) {
        if (action == SuperviseAction::kStart) return now_ - from;
      }
      advance(kSuperviseTick);
    }
    return Duration::max();
  }
  const SuperviseState& state() const { return state_; }
  TimePoint now() const { return now_; }

 private:
  SupervisePolicy policy_;
  SuperviseState state_;
  TimePoint now_ = TimePoint{} + std::chrono::hours(1);
};

using Actions = std::vector<SuperviseAction>;

TEST(SuperviseStep, StartsAtOnceAndBecomesReadyOnlyWhenTheEngineSaysSo) {
  Machine machine;
  EXPECT_EQ(machine.step(), Actions{SuperviseAction::kStart});
  EXPECT_EQ(machine.state().phase, EnginePhase::kStarting);
  EXPECT_EQ(machine.probe(ProbeAnswer::kNone), Actions{});
  EXPECT_EQ(machine.probe(ProbeAnswer::kLoading), Actions{});
  EXPECT_EQ(machine.state().phase, EnginePhase::kStarting);
  machine.probe(ProbeAnswer::kReady);
  EXPECT_EQ(machine.state().phase, EnginePhase::kReady);
  EXPECT_EQ(machine.state().restarts, 0);
}

TEST(SuperviseStep, AKilledEngineIsBackWithinASecondAndIsNotCalledReadyMeanwhile) {
  Machine machine;
  machine.step();
  machine.probe(ProbeAnswer::kReady);
  EXPECT_EQ(machine.ended(0, 9), Actions{});
  EXPECT_EQ(machine.state().phase, EnginePhase::kBackoff);
  EXPECT_NE(machine.state().message.find("signal 9"), std::string::npos);
  EXPECT_LT(machine.until_start(), seconds(1));
  EXPECT_EQ(machine.state().restarts, 1);
  EXPECT_EQ(machine.state().phase, EnginePhase::kStarting);
}

TEST(SuperviseStep, BackoffDoublesUpToItsLimit) {
  SupervisePolicy policy;
  policy.breaker_ends = 100;
  Machine machine(policy);
  machine.step();
  Duration before{};
  for (int i = 0; i < 12; ++i) {
    machine.ended(1);
    const Duration wait = machine.until_start();
    EXPECT_GE(wait + kSuperviseTick, before);
    EXPECT_LE(wait, policy.backoff_max + kSuperviseTick);
    before = wait;
  }
  EXPECT_GE(before, policy.backoff_max);
}

TEST(SuperviseStep, ThreeEndsInTenMinutesOpenTheBreakerAndOneTryPerHoldTimeFollows) {
  Machine machine;
  machine.step();
  machine.ended(1);
  machine.until_start();
  machine.ended(1);
  machine.until_start();
  machine.ended(1);
  EXPECT_EQ(machine.state().phase, EnginePhase::kCrashLoop);
  EXPECT_GE(machine.until_start(), seconds(60));
  machine.ended(1);
  EXPECT_EQ(machine.state().phase, EnginePhase::kCrashLoop);
}

TEST(SuperviseStep, EndsSpreadOverHoursNeverOpenTheBreaker) {
  Machine machine;
  machine.step();
  for (int i = 0; i < 20; ++i) {
    machine.probe(ProbeAnswer::kReady);
    for (int minute = 0; minute < 11; ++minute) {
      machine.advance(seconds(20));
      machine.probe(ProbeAnswer::kReady);
      machine.advance(seconds(20));
      machine.probe(ProbeAnswer::kReady);
      machine.advance(seconds(20));
      machine.probe(ProbeAnswer::kReady);
    }
    machine.ended(0, 11);
    ASSERT_EQ(machine.state().phase, EnginePhase::kBackoff) << i;
    EXPECT_LT(machine.until_start(), seconds(1));
  }
}

TEST(SuperviseStep, ARefusedConfigurationOpensTheBreakerAtOnceAndANewOneClosesIt) {
  Machine damaged_model;
  damaged_model.step();
  damaged_model.ended(3);
  EXPECT_EQ(damaged_model.state().phase, EnginePhase::kCrashLoop);
  Machine machine;
  machine.step();
  machine.ended(2);
  EXPECT_EQ(machine.state().phase, EnginePhase::kCrashLoop);
  EXPECT_NE(machine.state().message.find("configuration"), std::string::npos);
  SuperviseInput restart;
  restart.restart_requested = true;
  EXPECT_EQ(machine.step(restart), Actions{SuperviseAction::kStart});
}

TEST(SuperviseStep, ARestartForANewConfigurationStopsTheOldProcessFirst) {
  Machine machine;
  machine.step();
  machine.probe(ProbeAnswer::kReady);
  SuperviseInput restart;
  restart.restart_requested = true;
  EXPECT_EQ(machine.step(restart), Actions{SuperviseAction::kTerminate});
  EXPECT_EQ(machine.probe(ProbeAnswer::kReady), Actions{});
  EXPECT_NE(machine.state().phase, EnginePhase::kReady) << "the old process is on its way out";
  EXPECT_EQ(machine.ended(0), Actions{SuperviseAction::kStart});
  EXPECT_TRUE(machine.state().recent_ends.empty()) << "a wanted stop is no crash";
}

TEST(SuperviseStep, AnEngineThatIgnoresTermIsKilled) {
  Machine machine;
  machine.step();
  machine.probe(ProbeAnswer::kReady);
  SuperviseInput stop;
  stop.stop_requested = true;
  EXPECT_EQ(machine.step(stop), Actions{SuperviseAction::kTerminate});
  machine.advance(seconds(39));
  EXPECT_EQ(machine.step(), Actions{});
  machine.advance(seconds(2));
  EXPECT_EQ(machine.step(), Actions{SuperviseAction::kKill});
  EXPECT_EQ(machine.ended(0, 9), Actions{});
  EXPECT_EQ(machine.state().phase, EnginePhase::kStopped);
  machine.advance(minutes(5));
  EXPECT_EQ(machine.step(), Actions{}) << "a stopped pod starts nothing";
}

TEST(SuperviseStep, AStopBetweenTwoStartsEndsAtOnce) {
  Machine machine;
  machine.step();
  machine.ended(1);
  SuperviseInput stop;
  stop.stop_requested = true;
  EXPECT_EQ(machine.step(stop), Actions{});
  EXPECT_EQ(machine.state().phase, EnginePhase::kStopped);
}

TEST(SuperviseStep, AReadyEngineThatFallsSilentIsNotReadyAndThenKilled) {
  Machine machine;
  machine.step();
  machine.probe(ProbeAnswer::kReady);
  machine.advance(seconds(2));
  machine.probe(ProbeAnswer::kNone);
  EXPECT_EQ(machine.state().phase, EnginePhase::kStarting);
  machine.advance(seconds(29));
  EXPECT_EQ(machine.probe(ProbeAnswer::kNone), Actions{SuperviseAction::kKill});
}

TEST(SuperviseStep, ALoadingEngineMayTakeLongAsLongAsItAnswers) {
  Machine machine;
  machine.step();
  for (int i = 0; i < 60; ++i) {
    machine.advance(minutes(1));
    ASSERT_EQ(machine.probe(ProbeAnswer::kLoading), Actions{});
  }
  machine.advance(seconds(121));
  EXPECT_EQ(machine.probe(ProbeAnswer::kNone), Actions{SuperviseAction::kKill});
}

TEST(SuperviseStep, ABinaryThatCannotBeStartedCountsAsAnEnd) {
  Machine machine;
  machine.step();
  SuperviseInput failed;
  failed.start_failed = "no such file";
  machine.step(failed);
  EXPECT_EQ(machine.state().phase, EnginePhase::kBackoff);
  EXPECT_NE(machine.state().message.find("no such file"), std::string::npos);
}

TEST(SuperviseStep, NeverAsksForASecondProcessWhateverHappens) {
  std::uint64_t random = 1;
  const auto draw = [&random](std::uint64_t n) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (random >> 33) % n;
  };
  for (int run = 0; run < 300; ++run) {
    Machine machine;
    bool alive = false;
    for (int i = 0; i < 200; ++i) {
      SuperviseInput input;
      if (alive && draw(4) == 0) {
        input.ended = ProcessExit{static_cast<int>(draw(4)), 0};
        alive = false;
      } else if (draw(2) == 0) {
        input.probe = static_cast<ProbeAnswer>(draw(3));
      }
      input.restart_requested = draw(30) == 0;
      input.stop_requested = draw(150) == 0;
      for (const SuperviseAction action : machine.step(input)) {
        if (action != SuperviseAction::kStart) continue;
        ASSERT_FALSE(alive);
        alive = true;
      }
      ASSERT_EQ(machine.state().process_alive, alive);
      ASSERT_TRUE(alive || machine.state().phase != EnginePhase::kReady);
      machine.advance(milliseconds(draw(20'000)));
    }
  }
}

}  // namespace
}  // namespace kantha::noded
