#include "noded/engine/watch_step.h"

#include <gtest/gtest.h>

namespace kantha::noded {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

EngineReport process(std::int64_t pid, std::int64_t restarts, std::int64_t uptime_ms,
                     std::string hash) {
  EngineReport report;
  report.pid = pid;
  report.restarts = restarts;
  report.uptime_ms = uptime_ms;
  report.config_hash = std::move(hash);
  report.phase = "loading";
  report.message = "mapping weights";
  return report;
}

/// An engine that somebody else runs, on virtual time.
class WatchStep : public testing::Test {
 protected:
  void see(ProbeAnswer answer, std::optional<EngineReport> report = {},
           Duration later = milliseconds(100)) {
    now_ += later;
    state_ = watch_step(
        std::move(state_),
        {.now = now_, .probe = answer, .report = std::move(report), .where = "unix:/e.sock"},
        policy_);
  }
  void ready(std::optional<EngineReport> report = {}) { see(ProbeAnswer::kReady, report); }
  void ask_for(std::string hash) {
    state_ = watch_step(
        std::move(state_),
        {.now = now_, .change = WatchChange{.config_hash = std::move(hash), .asked = now_}},
        policy_);
  }
  bool says(const std::string& words) const {
    return state_.message.find(words) != std::string::npos;
  }

  TimePoint now_{seconds(1000)};
  WatchPolicy policy_;
  WatchState state_;
};

TEST_F(WatchStep, BeforeTheFirstAnswerItWaitsForeverAndSaysForWhom) {
  see(ProbeAnswer::kNone);
  see(ProbeAnswer::kNone, {}, minutes(30));
  EXPECT_EQ(state_.phase, EnginePhase::kStarting);
  EXPECT_TRUE(says("nobody answers on unix:/e.sock for 1800 s")) << state_.message;
}

TEST_F(WatchStep, AnEngineThatLoadsSaysWhatItIsDoing) {
  see(ProbeAnswer::kLoading, process(7, 0, 100, "a"));
  EXPECT_EQ(state_.phase, EnginePhase::kStarting);
  EXPECT_EQ(state_.message, "engine is loading: mapping weights");
  EXPECT_EQ(state_.config_hash, "a");
}

TEST_F(WatchStep, ARunningEngineIsAdoptedAsItIs) {
  ready(process(7, 3, 50'000, "a"));
  EXPECT_EQ(state_.phase, EnginePhase::kReady);
  EXPECT_EQ(state_.restarts, 3);
  EXPECT_EQ(state_.pid, 7);
}

TEST_F(WatchStep, ASilentEngineIsWaitedForAndThenGivenUpUntilItAnswers) {
  ready();
  see(ProbeAnswer::kNone);
  EXPECT_EQ(state_.phase, EnginePhase::kBackoff);
  see(ProbeAnswer::kNone, {}, policy_.lost_timeout - seconds(1));
  EXPECT_EQ(state_.phase, EnginePhase::kBackoff);
  EXPECT_TRUE(says("does not answer for 59 s")) << state_.message;
  see(ProbeAnswer::kNone, {}, seconds(2));
  EXPECT_EQ(state_.phase, EnginePhase::kCrashLoop);
  EXPECT_TRUE(says("see the engine's log")) << state_.message;
  ready();
  EXPECT_EQ(state_.phase, EnginePhase::kReady);
  see(ProbeAnswer::kNone);
  EXPECT_EQ(state_.phase, EnginePhase::kBackoff) << "the silence counts anew";
}

TEST_F(WatchStep, EveryOtherProcessIsARestart) {
  const struct {
    const char* what;
    EngineReport report;
    std::int64_t restarts;
  } cases[] = {
      {"found", process(7, 0, 1000, "a"), 0},
      {"the same, later", process(7, 0, 2000, "a"), 0},
      {"another pid", process(8, 1, 100, "a"), 1},
      {"its parent began anew, with equal numbers", process(8, 0, 100, "a"), 2},
      {"and again", process(8, 0, 50, "a"), 3},
      {"the same, later", process(8, 0, 5000, "a"), 3},
  };
  for (const auto& [what, report, restarts] : cases) {
    ready(report);
    EXPECT_EQ(state_.restarts, restarts) << what;
  }
}

TEST_F(WatchStep, AChangeHoldsTheEngineBackUntilTheNewConfigurationRuns) {
  ready(process(7, 0, 1000, "a"));
  ask_for("b");
  EXPECT_EQ(state_.phase, EnginePhase::kStarting) << "at once";
  ready(process(7, 0, 1100, "a"));
  EXPECT_EQ(state_.phase, EnginePhase::kStarting) << "ready with the old one";
  see(ProbeAnswer::kLoading, process(7, 0, 1200, "a"));
  see(ProbeAnswer::kNone);
  EXPECT_EQ(state_.phase, EnginePhase::kBackoff);
  see(ProbeAnswer::kLoading, process(9, 1, 10, "b"));
  EXPECT_EQ(state_.phase, EnginePhase::kStarting);
  ready(process(9, 1, 100, "b"));
  EXPECT_EQ(state_.phase, EnginePhase::kReady);
  EXPECT_FALSE(state_.change.has_value());
}

TEST_F(WatchStep, AChangeThatNobodyTakesUpIsDroppedAndNamed) {
  ready(process(7, 0, 1000, "aaaa"));
  ask_for("bbbb");
  see(ProbeAnswer::kReady, process(7, 0, 1100, "aaaa"), policy_.take_up_timeout);
  EXPECT_EQ(state_.phase, EnginePhase::kStarting);
  see(ProbeAnswer::kReady, process(7, 0, 1100, "aaaa"), seconds(1));
  EXPECT_EQ(state_.phase, EnginePhase::kReady) << "the old version goes on serving";
  EXPECT_TRUE(says("has not taken up configuration bbbb and goes on with aaaa")) << state_.message;
  ready(process(9, 1, 10, "bbbb"));
  EXPECT_FALSE(says("has not taken up")) << "it came true later";
}

TEST_F(WatchStep, AChangeThatEndsInNoEngineIsNamedToo) {
  ready(process(7, 0, 1000, "a"));
  ask_for("b");
  see(ProbeAnswer::kNone);
  see(ProbeAnswer::kNone, {}, policy_.lost_timeout + seconds(1));
  EXPECT_EQ(state_.phase, EnginePhase::kCrashLoop) << "those who wait are told";
  see(ProbeAnswer::kNone, {}, policy_.change_timeout);
  EXPECT_FALSE(state_.change.has_value());
  EXPECT_TRUE(says("no engine became ready with configuration b")) << state_.message;
  ready(process(9, 0, 10, "a"));
  EXPECT_EQ(state_.phase, EnginePhase::kReady);
}

TEST_F(WatchStep, ANewProcessIsReachedOnlyByANewProcess) {
  ready(process(7, 0, 1000, "a"));
  ask_for("");
  see(ProbeAnswer::kLoading, process(7, 0, 1100, "a"));
  ready(process(7, 0, 1200, "a"));
  EXPECT_EQ(state_.phase, EnginePhase::kStarting) << "the old one thought better of it";
  see(ProbeAnswer::kNone);
  ready(process(9, 1, 10, "a"));
  EXPECT_EQ(state_.phase, EnginePhase::kReady);
}

}  // namespace
}  // namespace kantha::noded
