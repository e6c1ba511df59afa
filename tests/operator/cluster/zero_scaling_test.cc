#include "operator/cluster/zero_scaling.h"

#include "base/digest.h"
#include "operator/cluster/activator_door.h"
#include "operator/cluster/activator_ports.h"
#include "operator/cluster/scaling.h"
#include "operator/serving/decision.h"
#include "operator/serving/pod_object.h"
#include "tests/operator/cluster/cluster_fixture.h"

namespace kantha::cluster {
namespace {

/// Activators that say what the test says.
class ScriptedActivators final : public ActivatorDoor {
 public:
  net::Task<Result<std::vector<std::string>>> list() override { co_return addresses; }
  net::Task<Result<noded::ActivatorState>> exchange(std::string address,
                                                    std::optional<std::string> table) override {
    if (silent) co_return unavailable("nobody answers");
    if (hung.contains(address)) {
      co_await net::sleep_for(std::chrono::seconds(2));
      co_return unavailable("no answer within 2 s");
    }
    if (table) {
      ++told;
      tables[address] = noded::activation_table_from_json(Json::parse(*table)).value();
      digests[address] = sha256_hex(*table);
    }
    noded::ActivatorState out{
        .table = digests[address], .draining = draining.contains(address), .lanes = {}};
    for (const noded::Activation& entry : tables[address].entries) {
      out.lanes.push_back({.id = entry.id,
                           .port = entry.port,
                           .held = waiting,
                           .waiting = waiting,
                           .total = 0,
                           .idle_ms = waiting > 0 ? 0 : idle_ms,
                           .error = {}});
    }
    co_return out;
  }

  std::vector<std::string> addresses = {"10.1.0.1"};
  std::map<std::string, noded::ActivationTable> tables;
  std::map<std::string, std::string> digests;
  std::int64_t waiting = 0;  ///< for every object
  std::int64_t idle_ms = 3'600'000;
  bool silent = false;
  std::set<std::string> hung;
  std::set<std::string> draining;
  int told = 0;
};

class ZeroScalingTest : public ClusterFixture {
 protected:
  ZeroScalingTest() { activators_ = &activators; }

  static Json sleeper(const std::string& name) {
    Json out = serving(name);
    out["spec"].erase("replicas");
    out["spec"]["autoscaling"] = {{"minReplicas", 0}, {"maxReplicas", 3}, {"idleSeconds", 30}};
    return out;
  }
  std::int64_t wanted(const std::string& name) {
    return find(kube::kModelServings, name)->at("spec").value("replicas", std::int64_t{-1});
  }
  bool is_led_to_activator(const std::string& name) {
    return find(kEndpointSlices, name + "-activator") != nullptr;
  }
  /// Every pod is ready and had its last request so long ago.
  void serve(std::int64_t idle_ms, std::int64_t streams = 0) {
    for (const std::string& name : names(kube::kPods)) {
      const auto pod = serving::pod_object_from_json(*find(kube::kPods, name)).value();
      if (!pod.ready) make_ready(name);
      noded::PodState state;
      state.phase = noded::EnginePhase::kReady;
      state.config_hash = pod.engine_config_hash;
      state.kv_blocks_total = 100;
      state.idle_ms = idle_ms;
      state.streams = streams;
      door_.states[name] = state;
    }
  }
  void serve_for(int seconds, std::int64_t idle_ms) {
    for (int i = 0; i < seconds; ++i) {
      serve(idle_ms);
      run_seconds(1);
    }
  }
  /// Up, idle for long, and then without pods.
  void fall_asleep(const std::string& name) {
    apply(sleeper(name));
    run_seconds(3);
    serve_for(34, 60'000);
    run_seconds(8);
    ASSERT_EQ(wanted(name), 0);
    work_seconds(8);
    ASSERT_TRUE(names(kube::kPods).empty());
  }
  std::vector<serving::Decision> decisions(const std::string& name) {
    const auto object = find(kube::kModelServings, name);
    return serving::decisions_from_json(object->at("status").value("decisions", Json::array()));
  }

  ScriptedActivators activators;
};

TEST_F(ZeroScalingTest, GoesToZeroWhenNobodyAsksAndBackWhenSomebodyDoes) {
  start();
  apply(sleeper("s"));
  run_seconds(3);
  EXPECT_EQ(wanted("s"), 1) << "it begins awake";
  serve_for(60, 1'000);
  EXPECT_EQ(wanted("s"), 1) << "a request a second ago";
  EXPECT_FALSE(is_led_to_activator("s"));

  // The door opens while the pod is still there, and the pod goes seconds later.
  for (int i = 0; i < 20 && !is_led_to_activator("s"); ++i) serve_for(1, 40'000);
  ASSERT_TRUE(is_led_to_activator("s"));
  EXPECT_EQ(wanted("s"), 1);
  const Json slice = *find(kEndpointSlices, "s-activator");
  EXPECT_EQ(slice["endpoints"][0]["addresses"][0], "10.1.0.1");
  EXPECT_EQ(slice["metadata"]["labels"]["kubernetes.io/service-name"], "s");
  EXPECT_EQ(slice["ports"][0]["name"], "http");
  EXPECT_EQ(slice["ports"][0]["port"], activators.tables["10.1.0.1"].entries.at(0).port);
  run_seconds(2);
  EXPECT_EQ(wanted("s"), 1) << "not everybody knows of the door yet";
  run_seconds(6);
  EXPECT_EQ(wanted("s"), 0);
  work_seconds(10);
  ASSERT_FALSE(decisions("s").empty());
  EXPECT_EQ(decisions("s").back().reason, "Idle");
  EXPECT_TRUE(names(kube::kPods).empty());
  EXPECT_EQ(condition("s", "Available").at("reason"), "ScaledToZero");
  EXPECT_EQ(condition("s", "ScalingActive").at("reason"), "ScaledToZero");

  activators.waiting = 2;
  run_seconds(2);
  EXPECT_EQ(wanted("s"), 1);
  ASSERT_EQ(names(kube::kPods).size(), 1U);
  run_seconds(3);  // counts are told every two seconds at most
  ASSERT_FALSE(decisions("s").empty());
  EXPECT_EQ(decisions("s").back().inputs, "2 requests wait for a pod");
  EXPECT_EQ(condition("s", "ScalingActive").at("reason"), "Waking");
  EXPECT_TRUE(activators.tables["10.1.0.1"].entries.at(0).pods.empty());
  serve_for(2, 0);
  EXPECT_EQ(activators.tables["10.1.0.1"].entries.at(0).pods,
            std::vector<std::string>{"10.0.0.7:8000"});
  EXPECT_TRUE(is_led_to_activator("s")) << "until pods have been there for a while";
  activators.waiting = 0;
  serve_for(10, 1'000);
  EXPECT_FALSE(is_led_to_activator("s"));
  EXPECT_EQ(wanted("s"), 1);
}

TEST_F(ZeroScalingTest, WhatIsNotKnownIsNotIdle) {
  start();
  apply(sleeper("s"));
  run_seconds(3);
  serve_for(5, 40'000);
  door_.states.clear();
  run_seconds(300);
  EXPECT_EQ(wanted("s"), 1) << "a pod that does not answer";
  serve_for(60, -1);
  EXPECT_EQ(wanted("s"), 1) << "a noded that does not say";
  for (int i = 0; i < 60; ++i) {
    serve(0, 1);
    run_seconds(1);
  }
  EXPECT_EQ(wanted("s"), 1) << "a stream that runs";
  activators.silent = true;
  serve_for(60, 100'000);
  EXPECT_EQ(wanted("s"), 1) << "activators that do not answer";
  EXPECT_EQ(condition("s", "ScalingActive").at("reason"), "NoActivator");
  activators.silent = false;
  activators.addresses.clear();
  serve_for(60, 100'000);
  EXPECT_EQ(wanted("s"), 1) << "no activators at all";
  EXPECT_FALSE(is_led_to_activator("s"));
}

TEST_F(ZeroScalingTest, ARequestOfTheLastMomentKeepsThePod) {
  start();
  apply(sleeper("s"));
  run_seconds(3);
  serve_for(30, 40'000);
  for (int i = 0; i < 20 && !is_led_to_activator("s"); ++i) serve_for(1, 40'000);
  ASSERT_TRUE(is_led_to_activator("s"));
  // A request in the activator, which passes it on.
  activators.waiting = 1;
  serve_for(10, 40'000);
  EXPECT_EQ(wanted("s"), 1);
  activators.waiting = 0;
  activators.idle_ms = 1'000;
  serve_for(10, 40'000);
  EXPECT_EQ(wanted("s"), 1);
  EXPECT_FALSE(is_led_to_activator("s")) << "awake again";
}

TEST_F(ZeroScalingTest, AnActivatorThatHangsDoesNotHoldUpWhoWaitsAtAnother) {
  activators.addresses = {"10.1.0.1", "10.1.0.2"};
  start();
  fall_asleep("s");
  activators.hung = {"10.1.0.1"};
  run_for(std::chrono::milliseconds(1'100));  // its question is on the way
  activators.waiting = 1;
  run_for(std::chrono::milliseconds(600));
  EXPECT_EQ(wanted("s"), 1);
}

TEST_F(ZeroScalingTest, WhileAsleepNothingIsWritten) {
  OneOperator& one = start();
  fall_asleep("s");
  run_seconds(30);
  const std::int64_t writes = one.real.write_count();
  const int told = activators.told;
  run_seconds(600);
  EXPECT_EQ(one.real.write_count(), writes);
  EXPECT_EQ(activators.told, told) << "and activators are only asked";
}

TEST_F(ZeroScalingTest, TheSliceFollowsTheActivatorsAndIsHealed) {
  start();
  fall_asleep("s");
  activators.addresses = {"10.1.0.2", "10.1.0.3"};
  run_seconds(6);
  const auto addresses = [&] {
    std::string out;
    for (const Json& entry : find(kEndpointSlices, "s-activator")->at("endpoints")) {
      out += entry["addresses"][0].get<std::string>() + " ";
    }
    return out;
  };
  EXPECT_EQ(addresses(), "10.1.0.2 10.1.0.3 ");
  server_.remove(kEndpointSlices, {"a", "s-activator"}, "user");
  run_seconds(70);
  ASSERT_TRUE(is_led_to_activator("s"));
  EXPECT_EQ(addresses(), "10.1.0.2 10.1.0.3 ");
}

TEST_F(ZeroScalingTest, AnActivatorThatLeavesIsLedToNoMoreAndWhatWaitsInItStillWakes) {
  start();
  activators.addresses = {"10.1.0.1", "10.1.0.2"};
  fall_asleep("s");
  activators.draining = {"10.1.0.1"};
  run_seconds(3);
  const Json slice = *find(kEndpointSlices, "s-activator");
  ASSERT_EQ(slice["endpoints"].size(), 1U);
  EXPECT_EQ(slice["endpoints"][0]["addresses"][0], "10.1.0.2");
  activators.addresses = {"10.1.0.1"};
  activators.waiting = 1;
  run_seconds(5);
  EXPECT_EQ(wanted("s"), 1);
}

TEST_F(ZeroScalingTest, AnotherOperatorGoesOnFromWhatIsThere) {
  start();
  fall_asleep("s");
  stop_all();
  OneOperator& next = start();
  run_seconds(20);
  EXPECT_EQ(next.real.write_count(), 0);
  activators.waiting = 1;
  run_seconds(3);
  EXPECT_EQ(wanted("s"), 1);
}

TEST_F(ZeroScalingTest, ASliceOfSomebodyElseIsLeftAloneAndKeepsThePod) {
  make(kEndpointSlices, {{"metadata", {{"name", "s-activator"}, {"namespace", "a"}}},
                         {"addressType", "IPv4"},
                         {"endpoints", Json::array()}});
  start();
  apply(sleeper("s"));
  run_seconds(3);
  serve_for(60, 60'000);
  EXPECT_EQ(wanted("s"), 1);
  EXPECT_FALSE(find(kEndpointSlices, "s-activator")->at("metadata").contains("ownerReferences"));
  EXPECT_EQ(condition("s", "Degraded").at("reason"), "NameConflict");
}

TEST_F(ZeroScalingTest, WithAnHpaItsMinimumIsOneAndOurChangesAreOurs) {
  settings_.autoscaler = Autoscaler::kHpa;
  settings_.serves_metrics = true;
  start();
  fall_asleep("s");
  EXPECT_EQ(find(kAutoscalers, "s")->at("spec").at("minReplicas"), 1)
      << "0 needs a feature gate; at 0 an HPA rests";
  ASSERT_FALSE(decisions("s").empty());
  EXPECT_EQ(decisions("s").back().reason, "Idle");
  activators.waiting = 1;
  run_seconds(3);
  EXPECT_EQ(wanted("s"), 1);
  EXPECT_EQ(decisions("s").back().reason, "RequestsWait");
}

TEST_F(ZeroScalingTest, AnEditThatAsksForAPodWakesIt) {
  start();
  fall_asleep("s");
  edit("s", [](Json& object) { object["spec"]["autoscaling"]["minReplicas"] = 2; });
  run_seconds(10);
  EXPECT_EQ(wanted("s"), 2);
  EXPECT_FALSE(is_led_to_activator("s"));
}

TEST_F(ZeroScalingTest, ActivatorsAreToldTheDigestsOfKeysAndNothingWithoutThem) {
  start();
  Json object = sleeper("s");
  object["spec"]["gateway"] = {{"authSecret", "keys"}};
  apply(object);
  run_seconds(5);
  const auto entry = [&] { return activators.tables["10.1.0.1"].entries.at(0); };
  EXPECT_TRUE(entry().asks_for_keys);
  EXPECT_FALSE(entry().keys);
  make(kube::kSecrets, {{"metadata", {{"name", "keys"}, {"namespace", "a"}}},
                        {"data", {{"keys.json", "eyJrZXlzIjpbXX0="}}}});
  run_seconds(10);
  EXPECT_EQ(entry().keys, R"({"keys":[]})");
}

TEST_F(ZeroScalingTest, OthersAreNotToldOf) {
  start();
  apply(serving("plain"));
  run_seconds(10);
  EXPECT_EQ(activators.told, 0);
}

TEST(ActivatorPorts, AreTheSameInEveryOperatorAndNoTwoMeet) {
  ActivatorPorts one;
  ActivatorPorts two;
  std::set<std::int64_t> ports;
  for (int i = 0; i < 2'000; ++i) {
    const std::string uid = "uid-" + std::to_string(i);
    const std::int64_t port = one.port_of(uid);
    EXPECT_EQ(port, two.port_of(uid));
    EXPECT_GE(port, ActivatorPorts::kFirst);
    EXPECT_LT(port, ActivatorPorts::kFirst + ActivatorPorts::kCount);
    ports.insert(port);
  }
  EXPECT_EQ(ports.size(), 2'000U);
  const std::int64_t kept = one.port_of("uid-7");
  one.keep_only({"uid-7"});
  EXPECT_EQ(one.port_of("uid-7"), kept);
}

TEST(ActivatorAddresses, LeaveOutWhatIsNotReadyButNotWhatEnds) {
  const Json slice = Json::parse(R"({"addressType": "IPv4", "endpoints": [
      {"addresses": ["10.0.0.2"], "conditions": {"ready": true}},
      {"addresses": ["10.0.0.1"], "conditions": {}},
      {"addresses": ["10.0.0.3"], "conditions": {"ready": false}},
      {"addresses": ["10.0.0.4"], "conditions": {"ready": false, "terminating": true}},
      {"addresses": "10.0.0.5"}, 7]})");
  const Json other = Json::parse(R"({"addressType": "IPv6", "endpoints": [
      {"addresses": ["fd00::1"]}]})");
  EXPECT_EQ(activator_addresses({slice, other, Json::object()}),
            (std::vector<std::string>{"10.0.0.1", "10.0.0.2", "10.0.0.4"}));
  EXPECT_TRUE(activator_addresses({}).empty());
}

}  // namespace
}  // namespace kantha::cluster
