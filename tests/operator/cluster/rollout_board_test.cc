#include "operator/cluster/rollout_board.h"

#include <gtest/gtest.h>

namespace kantha::cluster {
namespace {

using namespace std::chrono_literals;
using serving::RolloutPhase;

const kube::ObjectKey kKey{"apps", "m"};

serving::RolloutState state_of(RolloutPhase phase) {
  serving::RolloutState out;
  out.phase = phase;
  out.since = WallTime{} + 1'700'000'000s;
  out.target = "r-6c1f0a2b3c.0011223344";
  out.ring_name = "canary \"1\"";
  out.ring_size = 2;
  return out;
}

TEST(RolloutBoard, SaysWhereEachObjectStands) {
  MetricRegistry metrics;
  RolloutBoard board(metrics);
  board.see(kKey, state_of(RolloutPhase::kBaking));
  EXPECT_EQ(board.scrape(),
            "# HELP kantha_operator_rollout_phase Where the rollout of each ModelServing stands\n"
            "# TYPE kantha_operator_rollout_phase gauge\n"
            "kantha_operator_rollout_phase{serving_namespace=\"apps\",serving=\"m\","
            "phase=\"Baking\",ring=\"canary \\\"1\\\"\",target=\"r-6c1f0a2b3c\"} 1\n"
            "# HELP kantha_operator_rollout_phase_started_seconds When it came there, Unix time\n"
            "# TYPE kantha_operator_rollout_phase_started_seconds gauge\n"
            "kantha_operator_rollout_phase_started_seconds{serving_namespace=\"apps\","
            "serving=\"m\"} 1700000000\n"
            "# HELP kantha_operator_rollout_ring_pods Pods of the ring at work; 0: all of them\n"
            "# TYPE kantha_operator_rollout_ring_pods gauge\n"
            "kantha_operator_rollout_ring_pods{serving_namespace=\"apps\",serving=\"m\"} 2\n");
  board.forget(kKey);
  EXPECT_EQ(board.scrape().find("apps"), std::string::npos) << "an object that is gone has none";
}

TEST(RolloutBoard, CountsTransitionsAndVerdictsOfWhichAllAreThereFromTheBeginning) {
  MetricRegistry metrics;
  RolloutBoard board(metrics);
  EXPECT_NE(metrics.scrape().find("verdicts_total{verdict=\"Inconclusive\"} 0"), std::string::npos);
  board.count({{false, "RingPassed", "ring canary"}, {true, "RolloutFailed", "no"}});
  board.count({{true, "RolloutFailed", "again"}});
  const std::string text = metrics.scrape();
  for (const char* line : {"kantha_operator_rollout_events_total{reason=\"RingPassed\"} 1",
                           "kantha_operator_rollout_events_total{reason=\"RolloutFailed\"} 2",
                           "kantha_operator_rollout_verdicts_total{verdict=\"Pass\"} 1",
                           "kantha_operator_rollout_verdicts_total{verdict=\"Fail\"} 2"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

TEST(RolloutBoard, MeasuresFromTheFirstSightOfABreachToTheFirstPodThatGoesBack) {
  MetricRegistry metrics;
  RolloutBoard board(metrics);
  const TimePoint start{};
  board.told_back(kKey, start);
  board.see(kKey, state_of(RolloutPhase::kBaking));
  board.breach(kKey, start + 10s);
  board.breach(kKey, start + 11s);
  board.see(kKey, state_of(RolloutPhase::kRollingBack));
  board.told_back(kKey, start + 14s);
  board.told_back(kKey, start + 60s);
  EXPECT_NE(metrics.scrape().find("kantha_operator_rollback_seconds_sum 4\n"), std::string::npos);
  EXPECT_NE(metrics.scrape().find("kantha_operator_rollback_seconds_count 1\n"), std::string::npos);
  board.breach(kKey, start + 100s);
  board.see(kKey, state_of(RolloutPhase::kDone));
  board.told_back(kKey, start + 200s);
  EXPECT_NE(metrics.scrape().find("kantha_operator_rollback_seconds_count 1\n"), std::string::npos)
      << "the spec went back before any pod was told";
}

}  // namespace
}  // namespace kantha::cluster
