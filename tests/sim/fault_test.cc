#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"
#include "tests/sim/scenario.h"

/// Faults of the list in the reliability research, each a named test on the whole simulated
/// cluster.
namespace kantha::sim {
namespace {

using namespace std::chrono_literals;

const Json kOtherConfig = {{"spec", {{"engine", {{"config", {{"maxNumSeqs", 16}}}}}}}};
const Json kOtherImage = {{"spec", {{"engine", {{"image", "example.com/engine:2"}}}}}};

class FaultTest : public testing::Test {
 protected:
  void expect_clean(SimWorld& world) {
    world.checks().check_end();
    EXPECT_TRUE(world.checks().failures().empty()) << world.report();
  }
  void expect_idle(SimWorld& world, Duration span = 1h) {
    world.checks().mark();
    world.run_for(span);
    EXPECT_EQ(world.checks().writes_since_mark(), 0) << world.report();
  }
  static std::set<std::string> uids(SimWorld& world, const std::string& name) {
    std::set<std::string> all;
    for (const auto& pod : world.pods(name)) all.insert((*pod)["metadata"]["uid"]);
    return all;
  }
};

TEST_F(FaultTest, F13ServingGoesOnWhileTheApiServerIsAwayAndCatchesUp) {
  SimWorld world;
  world.keep_operator({});
  world.create_serving("a");
  ASSERT_TRUE(world.run_until([&] { return world.is_available("a"); })) << world.report();
  const auto before = uids(world, "a");
  world.current().transport().set_cut_off(true);
  world.run_for(1min);
  world.scale("a", 3);
  world.run_for(9min);
  EXPECT_EQ(uids(world, "a"), before);
  world.current().transport().set_cut_off(false);
  EXPECT_TRUE(world.run_until([&] { return world.pods("a").size() == 3; }, 60s)) << world.report();
  EXPECT_EQ(world.operator_count(), 1U);
  expect_clean(world);
}

TEST_F(FaultTest, F15AStaleViewTakesNothingAway) {
  // The object is scaled down and up again; the next operator sees only the moment in between.
  SimWorld world;
  world.start_operator();
  world.create_serving("a", {{"replicas", 3}});
  ASSERT_TRUE(world.run_until([&] { return world.is_available("a"); })) << world.report();
  const auto before = uids(world, "a");
  world.current().kill();
  world.run_for(5s);
  world.scale("a", 1);
  const auto low = world.server().store().version();
  world.scale("a", 3);
  auto& lagging =
      world.start_operator([&](OperatorRun& run) { run.transport().view().frozen_at = low; });
  world.run_for(10min);
  EXPECT_EQ(uids(world, "a"), before) << world.report();
  lagging.transport().view().frozen_at.reset();
  world.server().changed().notify();
  EXPECT_TRUE(world.settle());
  EXPECT_EQ(uids(world, "a"), before) << world.report();
  expect_clean(world);
}

TEST_F(FaultTest, F15AStaleViewDoesNotDeleteForADeletionThatIsOver) {
  SimWorld world;
  world.start_operator();
  world.create_serving("a");
  ASSERT_TRUE(world.run_until([&] { return world.is_available("a"); }));
  world.delete_serving("a");
  const auto marked = world.server().store().version();
  ASSERT_TRUE(world.run_until([&] { return world.serving("a") == nullptr; })) << world.report();
  world.run_for(10s);
  world.create_serving("a");
  ASSERT_TRUE(world.run_until([&] { return world.is_available("a"); }));
  const auto before = uids(world, "a");
  world.current().kill();
  world.run_for(5s);
  auto& lagging =
      world.start_operator([&](OperatorRun& run) { run.transport().view().frozen_at = marked; });
  world.run_for(5min);
  EXPECT_EQ(uids(world, "a"), before) << world.report();
  lagging.transport().view().frozen_at.reset();
  world.server().changed().notify();
  EXPECT_TRUE(world.settle());
  EXPECT_EQ(uids(world, "a"), before);
  expect_clean(world);
}

TEST_F(FaultTest, F16ALaggingCacheMakesNoChildTwice) {
  SimWorld world;
  auto& run = world.start_operator();
  world.run_for(5s);
  run.transport().view().frozen_at = world.server().store().version();
  world.create_serving("a");
  // The object itself is seen, its children are not for half a minute.
  run.transport().view().frozen_at = world.server().store().version();
  world.server().changed().notify();
  world.run_for(30s);
  std::map<std::string, int> creations;
  for (const auto& write : world.server().writes()) {
    if (write.before == nullptr && write.plural != "events") ++creations[write.plural + write.path];
  }
  for (const auto& [name, count] : creations) EXPECT_EQ(count, 1) << name;
  run.transport().view().frozen_at.reset();
  world.server().changed().notify();
  EXPECT_TRUE(world.run_until([&] { return world.is_available("a"); })) << world.report();
  EXPECT_EQ(world.pods("a").size(), 2U);
  expect_clean(world);
}

TEST_F(FaultTest, F17StatesThatAreNeverSeenDoNotMatter) {
  for (const Scenario& story : scenarios()) {
    SCOPED_TRACE(story.name);
    const Telling plain = tell(story);
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      // Watches break and history is gone: the operator sees jumps, not steps.
      WorldOptions options;
      options.server.history.age = 1s;
      // Watches that break again and again back off for minutes before the operator sees on.
      options.quiet = 20min;
      options.times.crash_backoff_max = 1h;  // else a crash loop never is quiet
      const Telling jumpy = tell(story, options, [seed](OperatorRun& run) {
        run.transport().set_watch_faults([seed](std::uint64_t index, const fake::ApiRequest&) {
          return fake::WatchFault{.cut_after_bytes = 200 + random_bits(seed, index) % 100'000};
        });
      });
      const auto lines = divergence(plain, jumpy);
      ASSERT_TRUE(lines.empty()) << "seed " << seed << ": " << lines[0] << "\n" << jumpy.report;
    }
  }
}

TEST_F(FaultTest, F18AnObjectThatWasMadeAnewOwesNothingToTheOldOne) {
  SimWorld world;
  world.start_operator();
  world.create_serving("a", {{"replicas", 3}});
  ASSERT_TRUE(world.run_until([&] { return world.is_available("a"); }));
  world.current().kill();
  world.run_for(5s);
  // Somebody forces the old one away and makes a new one while no operator looks.
  world.server().edit(
      kube::kModelServings, {"default", "a"},
      [](Json& object) { object["metadata"].erase("finalizers"); }, "somebody");
  world.delete_serving("a");
  world.create_serving("a", {{"replicas", 1}});
  const std::string uid = (*world.serving("a"))["metadata"]["uid"];
  world.start_operator();
  ASSERT_TRUE(world.settle());
  EXPECT_EQ((*world.serving("a"))["metadata"]["uid"], uid);
  ASSERT_EQ(world.pods("a").size(), 1U) << world.report();
  EXPECT_EQ((*world.pods("a")[0])["metadata"]["ownerReferences"][0]["uid"], uid);
  EXPECT_TRUE(world.is_available("a"));
  expect_clean(world);
}

TEST_F(FaultTest, F22AnswersThatComeLateOrOutOfOrderChangeNothing) {
  const Scenario& story = scenario("new engine config");
  const Telling plain = tell(story);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Telling slow = tell(story, {}, [seed](OperatorRun& run) {
      run.transport().set_faults(
          fake::seeded_faults(seed, {.delay = 0.5, .delay_max = std::chrono::seconds(8)}));
    });
    const auto lines = divergence(plain, slow);
    ASSERT_TRUE(lines.empty()) << "seed " << seed << ": " << lines[0] << "\n" << slow.report;
  }
}

TEST_F(FaultTest, F24AConflictOnStatusIsTriedAgainAndLeavesTheSpecAlone) {
  SimWorld world;
  auto& run = world.start_operator();
  int refused = 0;
  run.transport().set_faults([&](std::uint64_t, const fake::ApiRequest& request) {
    const bool is_status = request.subresource == "status" && request.plural == "modelservings";
    if (is_status && refused < 3) {
      ++refused;
      // Somebody else writes in between.
      world.server().edit(
          kube::kModelServings, {"default", "a"},
          [&](Json& object) { object["metadata"]["labels"]["n"] = std::to_string(refused); },
          "user");
    }
    return fake::Fault{};
  });
  world.create_serving("a");
  EXPECT_TRUE(world.run_until([&] { return world.is_available("a"); })) << world.report();
  EXPECT_EQ((*world.serving("a"))["metadata"]["labels"]["n"], "3");
  expect_clean(world);
}

TEST_F(FaultTest, F25ManyEditsEndInTheLastAndNoneIsLost) {
  SimWorld world;
  world.allow_writes_per_minute(12'000);
  world.start_operator();
  world.create_serving("a", {{"replicas", 3}});
  ASSERT_TRUE(world.run_until([&] { return world.is_available("a"); }));
  for (int i = 0; i < 1500; ++i) {  // 50 a second for half a minute
    ASSERT_EQ(world.patch_serving(
                  "a", {{"spec", {{"engine", {{"config", {{"maxNumSeqs", 8 + i % 7}}}}}}}}),
              200);
    world.run_for(20ms);
  }
  ASSERT_TRUE(world.settle(90s, 2h)) << world.report();
  EXPECT_TRUE(world.is_whole("a")) << world.report();
  const Json& object = *world.serving("a");
  EXPECT_EQ(object["spec"]["engine"]["config"]["maxNumSeqs"], 8 + 1499 % 7);
  EXPECT_EQ(object["status"]["observedGeneration"], object["metadata"]["generation"]);
  expect_clean(world);
}

TEST_F(FaultTest, F26AFieldThatAnotherManagerFightsForIsNoFight) {
  SimWorld world;
  world.start_operator();
  world.create_serving("a");
  ASSERT_TRUE(world.run_until([&] { return world.is_available("a"); }));
  world.settle();
  world.checks().mark();
  for (int i = 0; i < 600; ++i) {  // every second for ten minutes
    world.server().edit(
        kube::kServices, {"default", "a"},
        [&](Json& object) { object["spec"]["ports"][0]["targetPort"] = 81 + i % 2; }, "other");
    world.run_for(1s);
  }
  EXPECT_LE(world.checks().writes_since_mark(), 40) << world.report();
  ASSERT_TRUE(world.settle());
  const Json& ports = (*world.server().find(kube::kServices, {"default", "a"}))["spec"]["ports"];
  EXPECT_EQ(ports[0]["targetPort"], "api");
  expect_clean(world);
}

TEST_F(FaultTest, F27ReplicasBelongToWhoeverScales) {
  SimWorld world;
  world.allow_writes_per_minute(12'000);
  world.start_operator();
  world.create_serving("a", {{"replicas", 1}});
  std::int64_t last = 1;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    last = static_cast<std::int64_t>(random_bits(27, i) % 5);
    world.scale("a", last);
    world.run_for(300ms);
  }
  ASSERT_TRUE(world.settle());
  EXPECT_EQ((*world.serving("a"))["spec"]["replicas"], last);
  EXPECT_TRUE(world.is_whole("a")) << world.report();
  expect_clean(world);
}

TEST_F(FaultTest, F28AChildThatLostItsTiesIsTakenBackAndAForeignOneIsLeftAlone) {
  SimWorld world;
  world.start_operator();
  world.create_serving("a");
  ASSERT_TRUE(world.run_until([&] { return world.is_available("a"); }));
  const auto before = uids(world, "a");
  world.server().edit(
      kube::kPods, {"default", "a-0"},
      [](Json& pod) { pod["metadata"]["labels"].erase("serving.kantha.dev/role"); }, "somebody");
  world.run_for(30s);
  const auto pod = world.server().find(kube::kPods, {"default", "a-0"});
  ASSERT_NE(pod, nullptr) << world.report();
  EXPECT_EQ((*pod)["metadata"]["labels"]["serving.kantha.dev/role"], "replica") << world.report();
  EXPECT_EQ(uids(world, "a"), before);
  // A pod of somebody else's that wears our labels.
  Json foreign = {{"apiVersion", "v1"}, {"kind", "Pod"}};
  foreign["metadata"] = {
      {"name", "stranger"}, {"namespace", "default"}, {"labels", (*pod)["metadata"]["labels"]}};
  foreign["spec"] = {{"containers", Json::array({{{"name", "x"}, {"image", "example.com/x:1"}}})}};
  world.server().create(kube::kPods, foreign, "somebody");
  ASSERT_TRUE(world.settle());
  const auto stranger = world.server().find(kube::kPods, {"default", "stranger"});
  ASSERT_NE(stranger, nullptr);
  EXPECT_FALSE((*stranger)["metadata"].contains("ownerReferences"));
  expect_idle(world, 10min);
}

TEST_F(FaultTest, F29TheFinalizerIsDoneOnceHoweverItIsCutShort) {
  const Scenario& story = scenario("make and delete");
  const Telling plain = tell(story);
  EXPECT_TRUE(plain.end.empty() || plain.failures.empty()) << plain.report;
  for (const auto& [name, object] : plain.end) {
    EXPECT_FALSE(name.find("/a") != std::string::npos) << name << " is left behind";
  }
}

TEST_F(FaultTest, F30ALostNodeHoldsADeletionBackOnlyForAWhile) {
  SimWorld world;
  world.start_operator();
  world.create_serving("a");
  ASSERT_TRUE(world.run_until([&] { return world.is_available("a"); }));
  for (int i = 0; i < 3; ++i) world.kubelets().lose_node(i);
  world.delete_serving("a");
  world.run_for(20s);
  EXPECT_NE(world.serving("a"), nullptr) << "the grace is not over";
  EXPECT_TRUE(world.run_until([&] { return world.serving("a") == nullptr; }, 10min))
      << world.report();
  for (int i = 0; i < 3; ++i) world.kubelets().restore_node(i);
  EXPECT_TRUE(world.run_until([&] { return world.pods("a").empty(); })) << world.report();
  expect_clean(world);
}

TEST_F(FaultTest, F31ATerminatingNamespaceIsNoHotLoop) {
  SimWorld world;
  world.start_operator();
  world.create_serving("a");
  ASSERT_TRUE(world.run_until([&] { return world.is_available("a"); }));
  world.server().set_admission([](const fake::Kind& kind, const Json& object) {
    return std::optional(fake::namespace_terminating(kind, object["metadata"]["name"], "default"));
  });
  world.scale("a", 4);
  world.run_for(30s);
  const auto calls = world.current().transport().call_count();
  world.run_for(10min);
  EXPECT_LE(world.current().transport().call_count() - calls, 60U) << world.report();
  world.delete_serving("a");
  EXPECT_TRUE(world.run_until([&] { return world.serving("a") == nullptr; })) << world.report();
}

TEST_F(FaultTest, F31AWholeNamespaceGoes) {
  SimWorld world;
  world.start_operator();
  world.create_serving("a");
  ASSERT_TRUE(world.run_until([&] { return world.is_available("a"); }));
  constexpr kube::Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
  world.server().remove(kNamespaces, {"", "default"}, "user");
  EXPECT_TRUE(world.run_until(
      [&] { return world.server().find(kNamespaces, {"", "default"}) == nullptr; }, 10min))
      << world.report();
  expect_idle(world, 10min);
}

TEST_F(FaultTest, F32TheDefinitionMayGoAndComeBack) {
  SimWorld world;
  world.start_operator();
  world.create_serving("a");
  ASSERT_TRUE(world.run_until([&] { return world.is_available("a"); }));
  constexpr kube::Resource kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                        "CustomResourceDefinition", false};
  const auto definition =
      world.server().find(kDefinitions, {"", "modelservings.serving.kantha.dev"});
  ASSERT_NE(definition, nullptr);
  Json again = {{"apiVersion", (*definition)["apiVersion"]}, {"kind", (*definition)["kind"]}};
  again["metadata"] = {{"name", "modelservings.serving.kantha.dev"}};
  again["spec"] = (*definition)["spec"];
  world.server().remove(kDefinitions, {"", "modelservings.serving.kantha.dev"}, "user");
  EXPECT_TRUE(world.run_until([&] { return world.pods("a").empty(); }, 5min)) << world.report();
  world.run_for(10min);
  const auto calls = world.current().transport().call_count();
  world.run_for(10min);
  EXPECT_LE(world.current().transport().call_count() - calls, 100U) << "no hot loop";
  world.server().install(again);
  world.create_serving("b");
  EXPECT_TRUE(world.run_until([&] { return world.is_available("b"); }, 90s)) << world.report();
  EXPECT_EQ(world.operator_count(), 1U);
  expect_clean(world);
}

TEST_F(FaultTest, F33AnyVerbMayBeRevokedForAWhile) {
  struct Right {
    const char* verb;
    const char* plural;
  };
  const Right rights[] = {
      {"create", "pods"},
      {"delete", "pods"},
      {"patch", "pods"},
      {"watch", "pods"},
      {"list", "pods"},
      {"patch", "services"},
      {"create", "secrets"},
      {"patch", "configmaps"},
      {"create", "configmaps"},
      {"create", "events"},
      {"watch", "services"},
      {"list", "modelservings"},
      {"get", "pods"},
      {"get", "modelservings"},
      {"patch", "modelservings"},
      {"patch", "poddisruptionbudgets"},
      {"patch", "serviceaccounts"},
  };
  for (const Right& right : rights) {
    SCOPED_TRACE(std::string(right.verb) + " " + right.plural);
    SimWorld world;
    world.start_operator();
    world.create_serving("a");
    ASSERT_TRUE(world.run_until([&] { return world.is_available("a"); }));
    world.server().set_access_rule([&](const fake::Access& access) {
      return !access.user.starts_with("kantha-operator") || access.verb != right.verb ||
             access.plural != right.plural;
    });
    world.patch_serving("a", kOtherConfig);
    world.scale("a", 3);
    world.server().remove(kube::kServices, {"default", "a"}, "somebody");
    world.run_for(1min);
    const auto calls = world.current().transport().call_count();
    world.run_for(9min);
    EXPECT_LE(world.current().transport().call_count() - calls, 900U) << "no hot loop";
    world.server().set_access_rule({});
    EXPECT_TRUE(
        world.run_until([&] { return world.is_whole("a") && world.is_available("a"); }, 20min))
        << world.report();
    EXPECT_TRUE(world.settle());
    EXPECT_NE(world.server().find(kube::kServices, {"default", "a"}), nullptr) << world.report();
    EXPECT_EQ(world.operator_count(), 1U);
    expect_clean(world);
  }
}

TEST_F(FaultTest, F40ManyChangesOfOneObjectMakeFewPasses) {
  SimWorld world;
  world.start_operator();
  world.create_serving("a");
  ASSERT_TRUE(world.run_until([&] { return world.is_available("a"); }));
  world.settle();
  world.checks().mark();
  for (int i = 0; i < 10'000; ++i) {
    world.server().edit(
        kube::kModelServings, {"default", "a"},
        [&](Json& object) { object["metadata"]["labels"]["n"] = std::to_string(i); }, "user");
  }
  world.run_for(1min);
  EXPECT_EQ(world.checks().writes_since_mark(), 0) << world.report();
  expect_clean(world);
}

TEST_F(FaultTest, F41OnePoisonedObjectDoesNotHoldTheOthersBack) {
  const auto time_to_available = [](bool is_poisoned) {
    SimWorld world;
    auto& run = world.start_operator();
    run.transport().set_latency(5ms);
    run.transport().set_faults([=](std::uint64_t, const fake::ApiRequest& request) {
      const bool hit = is_poisoned && request.verb != "watch" && request.name.starts_with("poison");
      return fake::Fault{.kind = hit ? fake::FaultKind::kErrorBefore : fake::FaultKind::kNone};
    });
    if (is_poisoned) world.create_serving("poison");
    world.run_for(30s);
    for (int i = 0; i < 20; ++i) world.create_serving("n" + std::to_string(i));
    const TimePoint begin = world.now();
    EXPECT_TRUE(world.run_until([&] {
      for (int i = 0; i < 20; ++i) {
        if (!world.is_available("n" + std::to_string(i))) return false;
      }
      return true;
    })) << world.report();
    return world.now() - begin;
  };
  const Duration plain = time_to_available(false);
  const Duration poisoned = time_to_available(true);
  EXPECT_LE(poisoned, plain + plain / 10 + 200ms);
}

TEST_F(FaultTest, F42EqualTroublesMakeFewEvents) {
  SimWorld world;
  world.kubelets().set_image("example.com/engine:crash", {.crashes = true});
  world.start_operator();
  world.create_serving("a", {{"engine", {{"image", "example.com/engine:crash"}}}});
  world.run_for(2h);
  int events = 0;
  for (const auto& write : world.server().writes()) events += write.plural == "events" ? 1 : 0;
  EXPECT_LE(events, 25 + 2 * 12) << "25 at once, then one in five minutes";
  EXPECT_EQ(world.condition("a", "Available"), "False");
}

TEST_F(FaultTest, F45ImpossibleSpecsKeepTheOldVersionServingAndF46RevertsHeal) {
  const Json impossible[] = {
      {{"engine", {{"image", "example.com/engine:none"}}}},
      {{"engine", {{"image", "example.com/engine:crash"}}}},
      {{"engine", {{"image", "example.com/engine:stuck"}}}},
      {{"resources", {{"accelerator", {{"count", 64}}}}}},
      {{"model",
        {{"source",
          {{"hostPath", nullptr},
           {"http", {{"url", "https://example.com/m"}, {"sha256", std::string(64, 'a')}}}}}}}},
  };
  for (const Json& spec : impossible) {
    SCOPED_TRACE(dump_json(spec));
    SimWorld world;
    world.kubelets().set_image("example.com/engine:none", {.pulls = false});
    world.kubelets().set_image("example.com/engine:crash", {.crashes = true});
    world.kubelets().set_image("example.com/engine:stuck", {.never_ready = true});
    world.start_operator();
    world.create_serving("a", {{"replicas", 3}});
    ASSERT_TRUE(world.run_until([&] { return world.is_available("a"); })) << world.report();
    const Json before = (*world.serving("a"))["spec"];
    ASSERT_EQ(world.patch_serving("a", {{"spec", spec}}), 200);
    world.run_for(20min);
    int serving = 0;
    for (const auto& pod : world.pods("a")) {
      const FakePod* running = world.kubelets().find((*pod)["metadata"]["uid"]);
      serving += running != nullptr && running->is_serving() ? 1 : 0;
    }
    EXPECT_GE(serving, 2) << world.report();
    const bool says_why = world.condition("a", "Progressing") != "True" ||
                          world.condition("a", "Degraded") == "True" ||
                          !world.condition_reason("a", "Progressing").empty();
    EXPECT_TRUE(says_why) << world.report();
    Json back = {
        {"engine", {{"image", before["engine"].value("image", Json(nullptr))}}},
        {"resources", {{"accelerator", nullptr}}},
        {"model", {{"source", {{"http", nullptr}, {"hostPath", "/models/smollm2.gguf"}}}}}};
    ASSERT_EQ(world.patch_serving("a", {{"spec", back}}), 200);
    EXPECT_TRUE(
        world.run_until([&] { return world.is_whole("a") && world.is_available("a"); }, 30min))
        << world.report();
    world.settle();
    expect_clean(world);
  }
}

TEST_F(FaultTest, F50CorruptLinksDoNotEndAFleet) {
  struct Damage {
    const char* name;
    std::function<void(Json&)> strike;
  };
  const Damage damages[] = {
      {"owner uid", [](Json& pod) { pod["metadata"]["ownerReferences"][0]["uid"] = "corrupt"; }},
      {"owner name", [](Json& pod) { pod["metadata"]["ownerReferences"][0]["name"] = "x"; }},
      {"serving label",
       [](Json& pod) { pod["metadata"]["labels"]["serving.kantha.dev/name"] = "x"; }},
      {"role label", [](Json& pod) { pod["metadata"]["labels"].erase("serving.kantha.dev/role"); }},
      {"pod revision",
       [](Json& pod) { pod["metadata"]["annotations"]["serving.kantha.dev/pod-revision"] = "x"; }},
      {"ordinal",
       [](Json& pod) { pod["metadata"]["labels"]["serving.kantha.dev/ordinal"] = "99"; }},
  };
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.name);
    WorldOptions options;
    options.server.collector_delay = 24h;  // the garbage collector is not what is tested
    SimWorld world(options);
    world.start_operator();
    for (int i = 0; i < 10; ++i) world.create_serving("n" + std::to_string(i), {{"replicas", 4}});
    ASSERT_TRUE(world.settle()) << world.report();
    for (const auto& pod : world.server().all(kube::kPods, "default")) {
      world.server().edit(kube::kPods, {"default", (*pod)["metadata"]["name"]}, damage.strike,
                          "bit flip");
    }
    world.run_for(1s);
    std::deque<TimePoint> recent;
    std::size_t most = 0;
    world.run_for(30min);
    for (const auto& write : world.server().writes()) {
      if (write.plural != "pods" || write.verb != "delete") continue;
      if (!write.manager.starts_with("kantha-operator")) continue;
      recent.push_back(write.time);
      while (write.time - recent.front() >= 1min) recent.pop_front();
      most = std::max(most, recent.size());
    }
    EXPECT_LE(most, 4U) << "at most max(3, 10 %) of 40 in a minute\n" << world.report();
  }
}

TEST_F(FaultTest, F53NodedsThatMisbehaveHoldARolloutBackAndBreakNothing) {
  for (const DoorFault fault :
       {DoorFault::kSlow, DoorFault::kError, DoorFault::kGarbage, DoorFault::kLazy}) {
    SCOPED_TRACE(static_cast<int>(fault));
    SimWorld world;
    world.start_operator();
    world.create_serving("a", {{"replicas", 3}});
    ASSERT_TRUE(world.run_until([&] { return world.is_available("a"); }));
    world.nodeds().set_faults([=](std::uint64_t) { return fault; });
    world.patch_serving("a", kOtherConfig);
    world.run_for(10min);
    int serving = 0;
    for (const auto& pod : world.pods("a")) {
      const FakePod* running = world.kubelets().find((*pod)["metadata"]["uid"]);
      serving += running != nullptr && running->is_serving() ? 1 : 0;
    }
    EXPECT_GE(serving, 2) << world.report();
    EXPECT_LE(world.nodeds().call_count(), 900U) << "asked within bounds";
    world.nodeds().set_faults({});
    EXPECT_TRUE(
        world.run_until([&] { return world.is_whole("a") && world.is_available("a"); }, 10min))
        << world.report();
    expect_clean(world);
  }
}

}  // namespace
}  // namespace kantha::sim
