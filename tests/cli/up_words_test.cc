#include "cli/up_words.h"

#include <gtest/gtest.h>

namespace kantha::cli {
namespace {

local::WorldView sample() {
  local::WorldView view;
  view.model = "smollm2-135m-instruct";
  view.endpoint = "http://127.0.0.1:8000";
  view.counts = {1, 1, 1, 1, 1};
  view.pods = {{"m-0", "ready", "", "", 0, 0, 0, 0, 1}};
  return view;
}

TEST(UpWords, TheReadyLineSaysWhereWhatAndHowSoon) {
  EXPECT_EQ(ready_line(sample(), std::chrono::milliseconds(812)),
            "ready: http://127.0.0.1:8000/v1  model smollm2-135m-instruct  (1 of 1 pods, 0.8 s)");
}

TEST(UpWords, TheVacantLineSaysWhatRequestsGetAndHowToStartOne) {
  local::WorldView view = sample();
  view.name = "m";
  EXPECT_EQ(vacant_line(view),
            "no pods: \"m\" is scaled to 0; requests to http://127.0.0.1:8000 get 503 until: "
            "kantha scale m --replicas 1");
}

TEST(UpWords, OneThatSleepsWantsNoVerb) {
  local::WorldView view = sample();
  view.name = "m";
  view.counts = {};
  view.conditions = {{{"ScalingActive", serving::ConditionStatus::kTrue, "ScaledToZero", ""}, ""}};
  EXPECT_EQ(vacant_line(view),
            "no pods: \"m\" sleeps; the next request to http://127.0.0.1:8000 waits while one "
            "starts");
}

TEST(UpWords, TheExampleNamesTheModelSafely) {
  const std::string plain = usage_example(sample());
  EXPECT_NE(plain.find("\"model\": \"smollm2-135m-instruct\""), std::string::npos) << plain;
  EXPECT_NE(plain.find("base_url=\"http://127.0.0.1:8000/v1\""), std::string::npos) << plain;
  local::WorldView odd = sample();
  odd.model = "a'b\"c";
  const std::string escaped = usage_example(odd);
  EXPECT_NE(escaped.find(R"("model": "a'\''b\"c")"), std::string::npos) << escaped;
}

TEST(UpWords, WaitingIsHopelessOnlyWhenNothingWillCome) {
  EXPECT_EQ(hopeless(sample()), "");
  local::WorldView none = sample();
  none.counts.available = 0;
  none.pods[0].phase = "starting";
  EXPECT_EQ(hopeless(none), "");
  none.pods[0] = {"m-0", "down", "noded ended: exit 3", "", 1, 0, 0, 0, 0};
  EXPECT_EQ(hopeless(none), "") << "the first restarts may help";
  none.pods[0].restarts = 3;
  EXPECT_EQ(hopeless(none), "m-0: noded ended: exit 3");
  none.pods[0] = {"m-0", "crash_loop", "engine: no such model", "", 0, 0, 0, 0, 0};
  EXPECT_EQ(hopeless(none), "m-0: engine: no such model");
  none.counts.available = 1;
  EXPECT_EQ(hopeless(none), "") << "another pod serves";
  none.counts = {};
  EXPECT_EQ(hopeless(none), "spec.replicas is 0");
}

TEST(UpWords, LoopbackIsWhatOnlyThisMachineReaches) {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "localhost", "::1"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "example.org"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

}  // namespace
}  // namespace kantha::cli
