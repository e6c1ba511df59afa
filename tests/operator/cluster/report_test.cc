#include "operator/cluster/report.h"

#include "tests/operator/cluster/cluster_fixture.h"

namespace kantha::cluster {
namespace {

Json status_with(const std::string& type, const std::string& status, const std::string& reason) {
  return {
      {"conditions",
       Json::array(
           {{{"type", type}, {"status", status}, {"reason", reason}, {"message", "so it is"}}})}};
}

TEST(Transitions, WhatPeopleWantToHearOf) {
  const struct {
    const char* what;
    Json before;
    Json after;
    std::vector<Transition> expected;
  } cases[] = {
      {"nothing new is no event",
       status_with("Available", "True", "PodsAvailable"),
       status_with("Available", "True", "PodsAvailable"),
       {}},
      {"the first Available",
       Json::object(),
       status_with("Available", "True", "PodsAvailable"),
       {{false, "Available", "so it is"}}},
      {"pods that fail make it a warning",
       status_with("Available", "True", "PodsAvailable"),
       status_with("Available", "False", "PodsUnavailable"),
       {{true, "Unavailable", "so it is"}}},
      {"scaling to zero is no warning",
       status_with("Available", "True", "PodsAvailable"),
       status_with("Available", "False", "ScaledToZero"),
       {{false, "Unavailable", "so it is"}}},
      {"never available is not told again",
       Json::object(),
       status_with("Available", "False", "PodsUnavailable"),
       {}},
      {"another reason of Degraded",
       status_with("Degraded", "True", "PodsFailing"),
       status_with("Degraded", "True", "NameConflict"),
       {{true, "NameConflict", "so it is"}}},
      {"the same reason of Degraded",
       status_with("Degraded", "True", "NameConflict"),
       status_with("Degraded", "True", "NameConflict"),
       {}},
      {"no room",
       Json::object(),
       status_with("CapacityBlocked", "True", "Unschedulable"),
       {{true, "CapacityBlocked", "so it is"}}},
      {"a spec that can't be served",
       Json::object(),
       status_with("Progressing", "False", "InvalidSpec"),
       {{true, "InvalidSpec", "so it is"}}},
      {"a rollout that is done",
       {{"currentRevision", "r-1"}},
       {{"currentRevision", "r-2"}},
       {{false, "RolledOut", "all pods run r-2"}}},
      {"the first revision is no rollout", Json::object(), {{"currentRevision", "r-1"}}, {}},
      {"a status that somebody garbled",
       Json::array({1, 2}),
       status_with("Available", "True", "PodsAvailable"),
       {{false, "Available", "so it is"}}},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(transitions_between(c.before, c.after), c.expected) << c.what;
  }
}

class ReportTest : public ClusterFixture {};

TEST_F(ReportTest, AStatusWriteThatFailsIsTriedAgainAndTheUsersSpecIsLeftAlone) {
  OneOperator& one = start();
  int failures = 3;
  one.transport.set_faults([&](std::uint64_t, const fake::ApiRequest& request) {
    const bool status = request.subresource == "status" && failures > 0;
    if (status) --failures;
    return fake::Fault{status ? fake::FaultKind::kErrorBefore : fake::FaultKind::kNone};
  });
  apply(serving("m"));
  work_seconds(5);
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(condition_status("m", "Available"), "True");
  EXPECT_EQ(find(kube::kModelServings, "m")->at("spec").at("replicas"), 1);
  EXPECT_EQ(find(kube::kModelServings, "m")->at("metadata").at("generation"), 1);
}

TEST_F(ReportTest, CountsThatMoveAreWrittenEveryTwoSecondsAndTheEndAtOnce) {
  start();
  apply(serving("m", 8));
  const auto status_writes = [&] {
    const std::vector<std::string> writes = operator_writes();
    return std::count(writes.begin(), writes.end(), "apply modelservings/status");
  };
  run_seconds(1);
  EXPECT_EQ(status_writes(), 0) << "the pods may be ready in a moment";
  run_seconds(2);
  EXPECT_EQ(status_writes(), 1) << "but nobody is left without a word";
  EXPECT_EQ(condition_status("m", "Available"), "False");
  for (const std::string& pod : names(kube::kPods)) {
    make_ready(pod);
    run_for(std::chrono::milliseconds(400));
  }
  EXPECT_LE(status_writes(), 4);
  EXPECT_EQ(condition_status("m", "Available"), "True");
  run_seconds(2);
  EXPECT_EQ(find(kube::kModelServings, "m")->at("status").at("readyReplicas"), 8);
}

TEST_F(ReportTest, WhatAPersonMustMendIsToldAtOnce) {
  server_.set_access_rule([&](const fake::Access& access) {
    return !(access.plural == "poddisruptionbudgets" && access.verb == "create" &&
             access.user.starts_with("kantha-operator"));
  });
  start();
  run_seconds(1);
  apply(serving("m"));
  run_for(std::chrono::milliseconds(500));
  EXPECT_EQ(condition_status("m", "Degraded"), "True");
}

TEST_F(ReportTest, AStatusThatMayNotBeWrittenIsToldByOneEvent) {
  server_.set_access_rule([](const fake::Access& access) {
    return !(access.plural == "modelservings" && access.subresource == "status" &&
             access.user.starts_with("kantha-operator"));
  });
  start();
  apply(serving("m"));
  work_seconds(120);
  int told = 0;
  for (const auto& event : server_.all(kube::kEvents, "a")) {
    if (event->at("reason") != "StatusNotWritten") continue;
    ++told;
    EXPECT_EQ(event->value("count", 0), 1);
    EXPECT_NE(event->at("message").get<std::string>().find("status"), std::string::npos) << *event;
  }
  EXPECT_EQ(told, 1);
}

TEST_F(ReportTest, EventsTellTheTransitions) {
  start();
  apply(serving("m"));
  work_seconds(5);
  std::vector<std::string> reasons;
  for (const auto& event : server_.all(kube::kEvents, "a")) reasons.push_back(event->at("reason"));
  EXPECT_EQ(reasons, std::vector<std::string>{"Available"});
}

}  // namespace
}  // namespace kantha::cluster
