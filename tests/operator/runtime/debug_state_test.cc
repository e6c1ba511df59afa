#include "operator/runtime/debug_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "tests/operator/runtime/lamp.h"

namespace kantha::runtime {
namespace {

using namespace std::chrono_literals;

RuntimeView full_view() {
  RuntimeView view;
  view.watchers = {
      {.resource = "pods", .phase = "Watching", .resource_version = "1234", .in_phase = 61'500ms},
      {.resource = "services",
       .name_space = "team-a",
       .phase = "Listed",
       .resource_version = "9",
       .trouble = "permission_denied: services is forbidden",
       .in_phase = 5s}};
  view.stores = {{.resource = "pods",
                  .objects = 2000,
                  .resource_version = "1234",
                  .is_synced = true,
                  .undecodable = 1,
                  .last_undecodable = "default/x: missing"},
                 {.resource = "services", .objects = 7, .is_synced = true, .is_stale = true},
                 {.resource = "configmaps"}};
  ControllerView controller = {
      .name = "modelserving", .ready = 3, .delayed = 40, .oldest_wait = 120ms};
  controller.counts = {.done = 900, .failed = 12, .exceptions = 2, .overdue = 1};
  controller.in_work = {{{"default", "busy"}, 2s}};
  for (char name = 'a'; name <= 'e'; ++name) {
    controller.failures.push_back({{"default", std::string(1, name)}, "unavailable: no answer"});
  }
  view.controllers = {controller};
  view.lease = {.is_used = true, .is_leading = true, .identity = "op-1", .holder = "op-1"};
  view.gate = {.pending = 4, .given_up = 1};
  view.breaker = {.deletes_last_minute = 3, .refused = 8};
  return view;
}

TEST(DebugState, RendersEveryPartAsJson) {
  const OrderedJson json = debug_json(full_view(), /*failures_max=*/2);
  EXPECT_EQ(json["lease"]["leading"], true);
  EXPECT_EQ(json["lease"]["holder"], "op-1");
  EXPECT_EQ(json["watchers"][0]["phase"], "Watching");
  EXPECT_EQ(json["watchers"][0]["inPhaseSeconds"], 61.5);
  EXPECT_FALSE(json["watchers"][0].contains("trouble"));
  EXPECT_EQ(json["watchers"][1]["trouble"], "permission_denied: services is forbidden");
  EXPECT_EQ(json["stores"][0]["objects"], 2000);
  EXPECT_EQ(json["stores"][0]["undecodable"], 1);
  EXPECT_EQ(json["stores"][1]["stale"], true);
  EXPECT_EQ(json["stores"][2]["synced"], false);
  const OrderedJson& controller = json["controllers"][0];
  EXPECT_EQ(controller["ready"], 3);
  EXPECT_EQ(controller["delayed"], 40);
  EXPECT_EQ(controller["oldestWaitSeconds"], 0.12);
  EXPECT_EQ(controller["exceptions"], 2);
  EXPECT_EQ(controller["inWork"][0]["object"], "default/busy");
  EXPECT_EQ(controller["failing"], 5);
  EXPECT_EQ(controller["failures"].size(), 2u) << "only so many are named";
  EXPECT_EQ(json["gate"]["pending"], 4);
  EXPECT_EQ(json["breaker"]["refused"], 8);
}

TEST(DebugState, RendersAPageOfAtMostAHundredColumns) {
  RuntimeView view = full_view();
  view.watchers[1].trouble = std::string(500, 'x');
  view.controllers[0].failures[0].second = std::string(500, 'y');
  view.controllers[0].in_work[0].first.name = std::string(253, 'z');
  const std::string page = debug_text(view, /*failures_max=*/2);
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  for (const char* part :
       {"LEASE leading: op-1", "pods", "Watching", "1234", "team-a", "refused: xxx", "stale",
        "unsynced", "last undecodable: default/x: missing", "CONTROLLER modelserving: 3 ready",
        "40 delayed", "5 failing", "in work 2.000 s: default/zzz", "and 3 more",
        "4 writes waited for, 1 given up", "3 deletes in the last minute, 8 refused"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
  }
}

TEST(DebugState, SaysWhenThereIsNoElection) {
  RuntimeView view;
  EXPECT_TRUE(debug_json(view)["lease"].is_null());
  EXPECT_NE(debug_text(view).find("LEASE not used"), std::string::npos);
  EXPECT_EQ(debug_json(view)["watchers"], OrderedJson::array());
}

TEST(DebugState, LooksAtTheRealParts) {
  Store<Lamp> store(kLamps, decode_lamp);
  store.replace_all({lamp("a", "u1", 1, "red"), 5}, "10");
  const StoreView seen = view_of(store, "home");
  EXPECT_EQ(seen.resource, "lamps");
  EXPECT_EQ(seen.name_space, "home");
  EXPECT_EQ(seen.objects, 1u);
  EXPECT_EQ(seen.undecodable, 1u);
  EXPECT_TRUE(seen.is_synced);
  WriteGate gate;
  gate.wrote({"a", "b"}, {.plural = "pods", .resource_version = "7"}, TimePoint{});
  EXPECT_EQ(view_of(gate).pending, 1u);
  DeletionBreaker breaker;
  for (int i = 0; i < 5; ++i) static_cast<void>(breaker.allow(1, TimePoint{}));
  EXPECT_EQ(view_of(breaker, TimePoint{}).deletes_last_minute, 3u);
  EXPECT_EQ(view_of(breaker, TimePoint{}).refused, 2u);
}

}  // namespace
}  // namespace kantha::runtime
