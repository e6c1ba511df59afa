#include <functional>

#include "engine/serve/parent_step.h"

#include <gtest/gtest.h>

namespace kantha::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Actions = std::vector<ParentAction>;

const ProcessExit kCrash{.code = 0, .signal = 9};
const ProcessExit kClean{};
const ProcessExit kRefusal{.code = 2, .signal = 0};

/// A parent on virtual time.
class ParentStep : public testing::Test {
 protected:
  ParentStep() { input_.file_hash = "a"; }

  /// Time passes, then one step with what the test set; facts of one moment are cleared after it.
  Actions step(Duration later = milliseconds(50)) {
    now_ += later;
    input_.now = now_;
    ParentOutput out = parent_step(std::move(state_), input_, policy_);
    state_ = std::move(out.state);
    input_.ended.reset();
    input_.start_failed.reset();
    input_.sign_of_life = false;
    input_.leave_signals = 0;
    input_.hurry = false;
    return out.actions;
  }
  Actions ended(ProcessExit end, Duration later = milliseconds(50)) {
    input_.ended = end;
    return step(later);
  }
  Actions signalled(Duration later = milliseconds(50)) {
    input_.leave_signals = 1;
    return step(later);
  }
  void start() { ASSERT_EQ(step(), Actions{ParentAction::kStart}); }

  TimePoint now_{seconds(1000)};
  ParentPolicy policy_;
  ParentState state_;
  ParentInput input_;
};

TEST_F(ParentStep, WaitsForTheFileAndThenStarts) {
  input_.file_hash.reset();
  EXPECT_EQ(step(), Actions{});
  EXPECT_EQ(step(minutes(60)), Actions{}) << "waiting has no end";
  EXPECT_EQ(state_.phase, ParentPhase::kNoFile);
  input_.file_hash = "a";
  EXPECT_EQ(step(), Actions{ParentAction::kStart});
  EXPECT_EQ(state_.phase, ParentPhase::kRunning);
  EXPECT_EQ(step(), Actions{}) << "never two";
}

TEST_F(ParentStep, StartsAgainWithinASecondAfterACrash) {
  start();
  EXPECT_EQ(ended(kCrash), Actions{});
  EXPECT_EQ(state_.phase, ParentPhase::kPause);
  Actions next;
  for (int i = 0; i < 18 && next.empty(); ++i) next = step();
  EXPECT_EQ(next, Actions{ParentAction::kStart});
}

TEST_F(ParentStep, TheThirdCrashWithinTenMinutesIsTheEndWithASentence) {
  start();
  for (int i = 0; i < 2; ++i) {
    ended(kCrash, minutes(4));
    ASSERT_EQ(step(seconds(1)), Actions{ParentAction::kStart}) << i;
  }
  EXPECT_EQ(ended(kCrash, seconds(1)), Actions{});
  EXPECT_EQ(state_.phase, ParentPhase::kDone);
  EXPECT_EQ(state_.exit_status, 1);
  EXPECT_NE(state_.message.find("3 times within 10 minutes"), std::string::npos);
  EXPECT_NE(state_.message.find("signal 9"), std::string::npos);
}

TEST_F(ParentStep, CrashesThatLieFarApartDoNotAddUp) {
  start();
  for (int i = 0; i < 20; ++i) {
    input_.sign_of_life = true;
    step(minutes(5) + seconds(1));
    input_.sign_of_life = true;
    ended(kCrash, seconds(1));
    ASSERT_EQ(step(seconds(1)), Actions{ParentAction::kStart}) << i;
  }
}

TEST_F(ParentStep, AnEngineThatCannotBeStartedIsACrash) {
  start();
  input_.start_failed = "no such file";
  EXPECT_EQ(step(), Actions{});
  EXPECT_EQ(state_.phase, ParentPhase::kPause);
  EXPECT_NE(state_.message.find("no such file"), std::string::npos);
  EXPECT_EQ(step(seconds(1)), Actions{ParentAction::kStart});
}

TEST_F(ParentStep, TheNextEngineIsToldHowThisOneEnded) {
  start();
  EXPECT_EQ(state_.last_end, EngineEnd::kNone);
  const struct {
    const char* what;
    ProcessExit exit;
    EngineEnd end;
  } cases[] = {
      {"asked to", {.code = 0, .signal = 0}, EngineEnd::kWasEnded},
      {"an error of its own", {.code = 7, .signal = 0}, EngineEnd::kCrashed},
      {"killed by somebody", {.code = 0, .signal = SIGKILL}, EngineEnd::kWasEnded},
      {"a fault", {.code = 0, .signal = SIGSEGV}, EngineEnd::kCrashed},
  };
  for (const auto& c : cases) {
    ended(c.exit);
    EXPECT_EQ(state_.last_end, c.end) << c.what;
    input_.file_hash = c.what;
    ASSERT_EQ(step(minutes(11)), Actions{ParentAction::kStart}) << c.what;
  }
  EXPECT_EQ(step(policy_.silence_timeout + milliseconds(1)), Actions{});
  for (int i = 0; i < 70 && !state_.killed; ++i) step(seconds(1));
  ended({.code = 0, .signal = SIGKILL});
  EXPECT_EQ(state_.last_end, EngineEnd::kCrashed) << "it hung";
}

TEST_F(ParentStep, ARefusedConfigurationWaitsForAnotherOneAndCostsNoCrash) {
  start();
  for (int i = 0; i < 5; ++i) {
    ended(kRefusal);
    ASSERT_EQ(state_.phase, ParentPhase::kRefused);
    ASSERT_EQ(step(minutes(1)), Actions{}) << "the same file cannot help";
    input_.file_hash = "b" + std::to_string(i);
    ASSERT_EQ(step(), Actions{ParentAction::kStart}) << i;
  }
  EXPECT_TRUE(state_.crashes.empty());
}

TEST_F(ParentStep, AnEngineThatWasAskedToEndStartsAgainAndCostsNoCrash) {
  start();
  for (int i = 0; i < 5; ++i) {
    ended(kClean);
    ASSERT_EQ(step(seconds(1)), Actions{ParentAction::kStart}) << i;
  }
  EXPECT_EQ(state_.starts, 6);
}

TEST_F(ParentStep, ANewFileDrainsTheEngineAndStartsItAnew) {
  start();
  input_.file_hash = "b";
  EXPECT_EQ(step(), Actions{ParentAction::kTerminate});
  EXPECT_EQ(state_.phase, ParentPhase::kReplacing);
  EXPECT_EQ(step(), Actions{}) << "asked once";
  EXPECT_EQ(ended(kClean), Actions{ParentAction::kStart});
  EXPECT_EQ(state_.file_hash, "b");
}

TEST_F(ParentStep, AFileThatCannotBeRunReplacesNothing) {
  start();
  input_.file_hash = "b";
  input_.file_runnable = false;
  EXPECT_EQ(step(), Actions{});
  EXPECT_EQ(state_.phase, ParentPhase::kRunning);
  input_.file_hash = "c";
  input_.file_runnable = true;
  EXPECT_EQ(step(), Actions{ParentAction::kTerminate});
}

TEST_F(ParentStep, AFileThatGoesAwayEndsNothing) {
  start();
  input_.file_hash.reset();
  EXPECT_EQ(step(), Actions{});
  ended(kCrash);
  EXPECT_EQ(step(seconds(1)), Actions{});
  EXPECT_EQ(state_.phase, ParentPhase::kNoFile);
  input_.file_hash = "a";
  EXPECT_EQ(step(), Actions{ParentAction::kStart});
}

TEST_F(ParentStep, ANewFileStartsAtOnceAndWithACleanRecord) {
  start();
  ended(kCrash);
  step(seconds(1));
  ended(kCrash);
  ASSERT_EQ(state_.crashes.size(), 2U);
  input_.file_hash = "b";
  EXPECT_EQ(step(), Actions{ParentAction::kStart}) << "without the pause";
  EXPECT_TRUE(state_.crashes.empty());
}

TEST_F(ParentStep, AnEngineThatOutlivesItsDrainIsKilled) {
  start();
  input_.drain_timeout = seconds(20);
  input_.file_hash = "b";
  step();
  EXPECT_EQ(step(seconds(20)), Actions{});
  EXPECT_EQ(step(policy_.kill_margin), Actions{ParentAction::kKill});
  EXPECT_EQ(ended(kCrash), Actions{ParentAction::kStart}) << "the new file runs all the same";
  EXPECT_TRUE(state_.crashes.empty());
}

TEST_F(ParentStep, SigtermIsPassedOnAfterTheGraceAndADrainedEngineGivesZero) {
  start();
  EXPECT_EQ(signalled(), Actions{}) << "the front door still takes requests";
  EXPECT_EQ(step(policy_.leave_grace - seconds(1)), Actions{});
  EXPECT_EQ(step(seconds(1)), Actions{ParentAction::kTerminate});
  EXPECT_EQ(step(seconds(10)), Actions{});
  ended(kClean);
  EXPECT_EQ(state_.phase, ParentPhase::kDone);
  EXPECT_EQ(state_.exit_status, 0);
}

TEST_F(ParentStep, ASecondSigtermOrASigintSkipsTheGrace) {
  start();
  signalled();
  EXPECT_EQ(signalled(), Actions{ParentAction::kTerminate});
  EXPECT_EQ(signalled(), Actions{ParentAction::kTerminate}) << "a third one hurries the engine";
  ended(kClean);
  EXPECT_EQ(state_.exit_status, 0);

  state_ = {};
  start();
  input_.hurry = true;
  EXPECT_EQ(step(), Actions{ParentAction::kTerminate});
}

TEST_F(ParentStep, LeavingWithoutAnEngineIsAtOnce) {
  const struct {
    const char* when;
    std::function<void()> before;
  } cases[] = {
      {"no file yet", [this] { input_.file_hash.reset(), step(); }},
      {"in the pause", [this] { start(), ended(kCrash); }},
      {"refused", [this] { start(), ended(kRefusal); }},
  };
  for (const auto& [when, before] : cases) {
    state_ = {};
    input_.file_hash = "a";
    before();
    EXPECT_EQ(signalled(), Actions{}) << when;
    EXPECT_EQ(state_.phase, ParentPhase::kDone) << when;
    EXPECT_EQ(state_.exit_status, 0) << when;
  }
}

TEST_F(ParentStep, NothingStartsAnewWhileLeaving) {
  start();
  signalled();
  input_.file_hash = "b";
  EXPECT_EQ(step(), Actions{});
  ended(kCrash);
  EXPECT_EQ(state_.phase, ParentPhase::kDone);
  EXPECT_EQ(state_.exit_status, 1) << "streams may have been cut: not a clean end";
}

TEST_F(ParentStep, LeavingWhileTheEngineDrainsForAFileWaitsForThatDrain) {
  start();
  input_.file_hash = "b";
  ASSERT_EQ(step(), Actions{ParentAction::kTerminate});
  EXPECT_EQ(signalled(), Actions{}) << "a second SIGTERM would cut its streams";
  ended(kClean);
  EXPECT_EQ(state_.phase, ParentPhase::kDone);
  EXPECT_EQ(state_.exit_status, 0);
}

TEST_F(ParentStep, AnEngineWithoutASignOfLifeIsKilled) {
  start();
  for (int i = 0; i < 200; ++i) {
    input_.sign_of_life = i % 50 == 0;
    ASSERT_EQ(step(seconds(1)), Actions{}) << i;
  }
  Actions next;
  int silent_s = 49;
  for (; silent_s < 70 && next.empty(); ++silent_s) next = step(seconds(1));
  EXPECT_EQ(next, Actions{ParentAction::kKill});
  EXPECT_EQ(silent_s, 61);
  EXPECT_EQ(step(), Actions{}) << "once";
  ended(kCrash);
  EXPECT_EQ(state_.phase, ParentPhase::kPause);
  EXPECT_EQ(state_.crashes.size(), 1U);
}

TEST_F(ParentStep, AParentThatWasFrozenItselfKillsNobody) {
  start();
  EXPECT_EQ(step(minutes(10)), Actions{});
  EXPECT_EQ(step(), Actions{});
}

}  // namespace
}  // namespace kantha::serve
