#include "noded/fleet/fleet_router.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <map>

#include "noded/fleet/hop_door.h"

namespace kantha::noded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class FakeGate final : public EngineGate {
 public:
  EnginePhase phase() const override { return phase_; }
  std::string message() const override { return "as the test says"; }
  net::Task<bool> wait_ready(Duration) override { co_return phase_ == EnginePhase::kReady; }
  void suspect() override {}
  net::Endpoint endpoint() const override { return {.host = "127.0.0.1", .port = 1}; }
  bool was_ready() const override { return true; }
  EnginePhase phase_ = EnginePhase::kReady;
};

/// A pod's router, and peers whose doors are real servers that the test scripts.
class FleetRouterTest : public testing::Test {
 protected:
  FleetRouterTest() {
    char pattern[] = "/tmp/kantha-fleet-XXXXXX";
    folder_ = mkdtemp(pattern);
    settings_.pod = "a-0";
    settings_.model = "m";
  }
  ~FleetRouterTest() override { std::filesystem::remove_all(folder_); }

  void make() {
    router_ = std::make_unique<FleetRouter>(context_.get_executor(), gate_, client_, seal_,
                                            settings_, system_clock());
    router_->set_own_load([this] {
      PeerLoad load;
      load.phase = gate_.phase();
      load.ready_ms = ready_ms_;
      return load;
    });
  }

  std::string socket(const std::string& name) const { return "unix:" + folder_ + "/" + name; }

  Status tell(std::vector<std::string> names) {
    FleetView view{++told_ms_, {}};
    for (const std::string& name : names) view.peers.push_back({name, socket(name), "m", ""});
    return router_->take_view(dump_json(to_json(view)));
  }

  net::HttpServer& serve(const std::string& name, net::HttpHandler handler) {
    servers_.push_back(
        std::make_unique<net::HttpServer>(context_.get_executor(), std::move(handler)));
    net::Endpoint at;
    at.unix_path = folder_ + "/" + name;
    EXPECT_TRUE(servers_.back()->listen(at).ok());
    return *servers_.back();
  }

  TargetChoice choose(const net::HttpRequest& request) {
    std::optional<std::uint64_t> memo;
    return router_->choose(
        {.request = request, .tried = tried_, .local_allowed = local_allowed_, .memo = memo});
  }

  static net::HttpRequest prompt(int number) {
    net::HttpRequest request;
    request.method = "POST";
    request.target = "/v1/completions";
    request.body = R"({"prompt":")" + std::to_string(number) + std::string(200, 'p') + "\"}";
    return request;
  }

  /// Where the prompts 0 to 99 go.
  std::map<std::string, int> spread() {
    std::map<std::string, int> out;
    for (int i = 0; i < 100; ++i) {
      const TargetChoice choice = choose(prompt(i));
      out[choice.target ? choice.target->name : "nobody"] += 1;
    }
    return out;
  }

  /// A head as the peer's door sends it.
  static net::Headers head_of(const std::string& pod, EnginePhase phase = EnginePhase::kReady) {
    return {{std::string(kLoadHeader), load_text({pod, "m", phase, 1, 0, 0})}};
  }
  ForwardTarget peer(const std::string& name) const {
    ForwardTarget out;
    out.name = name;
    out.is_local = false;
    return out;
  }

  /// Runs the router's questions until `done` or ten seconds.
  void ask_until(std::function<bool()> done) {
    net::TaskGroup group(context_.get_executor(), "test");
    group.spawn(router_->run());
    const TimePoint until = system_clock().now() + seconds(10);
    while (!done() && system_clock().now() < until) {
      choose(prompt(0));  // or it would have no reason to ask
      context_.run_for(milliseconds(10));
    }
    EXPECT_TRUE(done());
    router_->stop();
    for (const auto& server : servers_) server->close();
    context_.run_for(seconds(2));
    EXPECT_EQ(group.running(), 0U);
  }

  boost::asio::io_context context_{1};
  std::string folder_;
  FakeGate gate_;
  std::optional<std::int64_t> ready_ms_;  ///< of this pod's first engine
  net::HttpClient client_{context_.get_executor()};
  HopSeal seal_{"a-0", [] { return std::string("secret"); }, system_clock()};
  HopSeal seal_of_peer_{"a-1", [] { return std::string("secret"); }, system_clock()};
  FleetSettings settings_;
  std::unique_ptr<FleetRouter> router_;
  std::vector<std::unique_ptr<net::HttpServer>> servers_;
  std::vector<TriedTarget> tried_;
  bool local_allowed_ = true;
  std::int64_t told_ms_ =
      std::chrono::duration_cast<milliseconds>(system_clock().wall_now().time_since_epoch())
          .count() -
      1000;
};

TEST_F(FleetRouterTest, WithoutAViewEverythingIsAnsweredHere) {
  make();
  EXPECT_EQ(spread(), (std::map<std::string, int>{{kLocalTargetName, 100}}));
}

TEST_F(FleetRouterTest, WithAViewPromptsSpreadAndEachKeepsItsPod) {
  make();
  ASSERT_TRUE(tell({"a-0", "a-1", "a-2"}).ok());
  const auto first = spread();
  EXPECT_EQ(first.size(), 3U);
  EXPECT_EQ(spread(), first);
  EXPECT_EQ(choose(prompt(0)).target->name, choose(prompt(0)).target->name);
}

TEST_F(FleetRouterTest, ARequestToAPeerCarriesASealForThatPeer) {
  make();
  ASSERT_TRUE(tell({"a-1"}).ok());
  gate_.phase_ = EnginePhase::kBackoff;
  const TargetChoice choice = choose(prompt(1));
  ASSERT_TRUE(choice.target);
  EXPECT_FALSE(choice.target->is_local);
  EXPECT_EQ(choice.target->endpoint.unix_path, folder_ + "/a-1");
  const auto mark = choice.target->headers.find(kHopHeader);
  ASSERT_TRUE(mark);
  EXPECT_TRUE(seal_of_peer_.open(*mark, "POST", "/v1/completions").ok());
}

TEST_F(FleetRouterTest, WhatCameFromAPeerStaysHereAndDoesNotWait) {
  make();
  ASSERT_TRUE(tell({"a-1", "a-2"}).ok());
  net::HttpRequest request = prompt(1);
  request.headers.set(kHopHeader, "1");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(choose(request).target->name, kLocalTargetName);
  gate_.phase_ = EnginePhase::kStarting;
  const TargetChoice choice = choose(request);
  EXPECT_FALSE(choice.target);
  EXPECT_TRUE(choice.hopeless);
}

TEST_F(FleetRouterTest, WhileTheEngineIsAwayOrHeldPeersTakeEverything) {
  make();
  ASSERT_TRUE(tell({"a-1", "a-2"}).ok());
  gate_.phase_ = EnginePhase::kStarting;
  EXPECT_EQ(spread().count(kLocalTargetName), 0U);
  gate_.phase_ = EnginePhase::kReady;
  local_allowed_ = false;
  EXPECT_EQ(spread().count(kLocalTargetName), 0U);
  net::HttpRequest models;
  models.target = "/v1/models";
  EXPECT_FALSE(choose(models).target->is_local);
}

TEST_F(FleetRouterTest, NothingNewGoesToAPeerThatSaysItIsNotReady) {
  make();
  ASSERT_TRUE(tell({"a-1", "a-2"}).ok());
  EXPECT_TRUE(router_->answered(peer("a-1"), 200, head_of("a-1", EnginePhase::kDraining)));
  EXPECT_EQ(spread().count("a-1"), 0U);
  EXPECT_TRUE(router_->answered(peer("a-1"), 200, head_of("a-1")));
  EXPECT_EQ(spread().count("a-1"), 1U);
}

TEST_F(FleetRouterTest, WhatAPodThatLeavesSendsGoesWhereTheOthersWillSendItsUsers) {
  make();
  ASSERT_TRUE(tell({"a-1", "a-2", "a-3"}).ok());
  settings_.pod = "a-1";
  FleetRouter heir(context_.get_executor(), gate_, client_, seal_, settings_, system_clock());
  heir.set_own_load([] { return PeerLoad{"a-1", "m", EnginePhase::kReady}; });
  FleetView view{told_ms_, {}};
  for (const char* name : {"a-2", "a-3"}) view.peers.push_back({name, socket(name), "m", ""});
  ASSERT_TRUE(heir.take_view(dump_json(to_json(view))).ok());
  std::map<std::string, int> heirs;
  for (int i = 0; i < 100; ++i) {
    std::optional<std::uint64_t> memo;
    const net::HttpRequest request = prompt(i);
    const TargetChoice sent = router_->choose({.request = request,
                                               .tried = tried_,
                                               .local_allowed = true,
                                               .local_last = true,
                                               .memo = memo});
    const TargetChoice later =
        heir.choose({.request = request, .tried = tried_, .local_allowed = true, .memo = memo});
    ASSERT_TRUE(sent.target && later.target);
    EXPECT_EQ(sent.target->name, later.target->is_local ? "a-1" : later.target->name);
    heirs[sent.target->name] += 1;
  }
  EXPECT_EQ(heirs.size(), 3U) << "each gets a part";
}

TEST_F(FleetRouterTest, ANewPodGetsAFewKeysFirst) {
  ready_ms_ = 3'600'000;
  make();
  ASSERT_TRUE(tell({"a-1"}).ok());
  const int whole = spread()["a-1"];
  EXPECT_NEAR(whole, 50, 20);
  net::Headers head = head_of("a-1");
  head.set(kLoadHeader, std::string(*head.find(kLoadHeader)) + ";ready_ms=10");
  EXPECT_TRUE(router_->answered(peer("a-1"), 200, head));
  EXPECT_LT(spread()["a-1"], whole / 2);
}

TEST_F(FleetRouterTest, ThisPodKeepsFewKeysWhileItIsNew) {
  ready_ms_ = 10;
  make();
  ASSERT_TRUE(tell({"a-1"}).ok());
  const int whole = spread()[std::string(kLocalTargetName)];
  net::Headers head = head_of("a-1");
  head.set(kLoadHeader, std::string(*head.find(kLoadHeader)) + ";ready_ms=3600000");
  EXPECT_TRUE(router_->answered(peer("a-1"), 200, head));
  EXPECT_LT(spread()[std::string(kLocalTargetName)], whole / 2);
}

TEST_F(FleetRouterTest, AnAnswerOfSomebodyElseIsNotPassedOnAndNothingMoreGoesThere) {
  make();
  ASSERT_TRUE(tell({"a-1", "a-2"}).ok());
  router_->began(peer("a-1"));
  EXPECT_FALSE(router_->answered(peer("a-1"), 200, head_of("b-7")));
  router_->ended(peer("a-1"), TargetEnd::kRefused);
  EXPECT_EQ(spread().count("a-1"), 0U);
  EXPECT_FALSE(router_->answered(peer("a-2"), 200, {})) << "not one of ours at all";
  EXPECT_EQ(spread(), (std::map<std::string, int>{{kLocalTargetName, 100}}));
  EXPECT_EQ(router_->counts().disbelieved, 2);
}

TEST_F(FleetRouterTest, ARefusalIsNotPassedOnAndIsNoFault) {
  make();
  ASSERT_TRUE(tell({"a-1"}).ok());
  net::Headers head = head_of("a-1");
  head.set(kRefusedHeader, "starting");
  for (int i = 0; i < 5; ++i) {
    router_->began(peer("a-1"));
    EXPECT_FALSE(router_->answered(peer("a-1"), 503, head));
    router_->ended(peer("a-1"), TargetEnd::kRefused);
  }
  EXPECT_EQ(spread().count("a-1"), 1U);
}

TEST_F(FleetRouterTest, FailuresInARowGiveAPeerUpAndItsRequestsBack) {
  make();
  std::vector<std::string> lost;
  router_->on_lost([&](const std::string& name) { lost.push_back(name); });
  ASSERT_TRUE(tell({"a-1"}).ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(lost.empty());
    router_->began(peer("a-1"));
    router_->ended(peer("a-1"), TargetEnd::kUnreachable);
  }
  EXPECT_EQ(lost, std::vector<std::string>{"a-1"});
  EXPECT_EQ(spread().count("a-1"), 0U);
}

TEST_F(FleetRouterTest, WhoJustFailedUnderARequestIsNotItsNextOne) {
  make();
  ASSERT_TRUE(tell({"a-1"}).ok());
  tried_ = {{"a-1", TargetEnd::kCut, system_clock().now()}};
  EXPECT_EQ(spread().count("a-1"), 0U);
  tried_ = {{kLocalTargetName, TargetEnd::kCut, system_clock().now()}};
  EXPECT_EQ(spread().count(kLocalTargetName), 0U);
  tried_.push_back({"a-1", TargetEnd::kRefused, system_clock().now()});
  EXPECT_EQ(spread().count(kLocalTargetName), 1U) << "there is nobody else";
}

TEST_F(FleetRouterTest, ABadViewIsRefusedAndTheGoodOneStays) {
  make();
  ASSERT_TRUE(tell({"a-1"}).ok());
  for (const std::string& text :
       {std::string("{"), std::string("[]"), std::string(R"({"observed_at_ms":1,"peers":[]})"),
        std::string(2u << 20, ' '),
        std::string(R"({"observed_at_ms":99999999999999,"peers":[]})")}) {
    EXPECT_FALSE(router_->take_view(text).ok()) << text.substr(0, 60);
  }
  EXPECT_EQ(router_->peer_count(), 1U);
  EXPECT_EQ(router_->counts().views_refused, 5);
}

TEST_F(FleetRouterTest, AsksPeersForTheirLoadThroughTheirDoors) {
  make();
  FleetRouter other(context_.get_executor(), gate_, client_, seal_of_peer_,
                    {.pod = "a-1", .model = "m"}, system_clock());
  other.set_own_load([] {
    PeerLoad load;
    load.phase = EnginePhase::kDraining;
    return load;
  });
  HopDoor door(other, seal_of_peer_,
               [](net::HttpRequest, net::ResponseWriter& writer) -> net::Task<void> {
                 static_cast<void>(co_await writer.send({.status = 500}));
               });
  serve("a-1", [&](net::HttpRequest request, net::ResponseWriter& writer) {
    return door.answer(std::move(request), writer, DoorKind::kPublic);
  });
  ASSERT_TRUE(tell({"a-1"}).ok());
  EXPECT_EQ(spread().count("a-1"), 1U);
  ask_until([&] { return spread().count("a-1") == 0; });
  EXPECT_EQ(door.forged(), 0);
}

TEST_F(FleetRouterTest, APeerThatDoesNotAnswerIsGivenUpAndOneThatComesBackIsUsedAgain) {
  settings_.ask_timeout = milliseconds(50);
  settings_.ask_every = milliseconds(50);
  settings_.book.breaker.hold_first = milliseconds(50);
  make();
  bool silent = true;
  serve("a-1", [&](net::HttpRequest, net::ResponseWriter& writer) -> net::Task<void> {
    if (silent) co_await net::sleep_for(milliseconds(300));
    net::HttpResponse answer;
    answer.headers = head_of("a-1");
    static_cast<void>(co_await writer.send(std::move(answer)));
  });
  ASSERT_TRUE(tell({"a-1"}).ok());
  bool was_lost = false;
  router_->on_lost([&](const std::string&) {
    was_lost = true;
    silent = false;
  });
  ask_until([&] { return was_lost && spread().count("a-1") == 1; });
  EXPECT_EQ(router_->counts().opened, 1);
}

TEST_F(FleetRouterTest, EndlessHeadersAndNonsenseAreFailuresAndNoMore) {
  settings_.book.breaker.hold_first = milliseconds(20);
  make();
  int answers = 0;
  serve("a-1", [&](net::HttpRequest, net::ResponseWriter& writer) -> net::Task<void> {
    net::HttpResponse answer;
    if (++answers % 2 == 0) {
      for (int i = 0; i < 2000; ++i) answer.headers.add("x-more", std::string(1000, 'x'));
    } else {
      answer.headers.set(kLoadHeader, std::string(30'000, 'z'));
    }
    static_cast<void>(co_await writer.send(std::move(answer)));
  });
  ASSERT_TRUE(tell({"a-1"}).ok());
  ask_until([&] { return answers >= 4; });
  EXPECT_EQ(spread().count("a-1"), 0U);
}

TEST_F(FleetRouterTest, AnIdlePodAsksNobody) {
  settings_.ask_after_request = milliseconds(50);
  make();
  ASSERT_TRUE(tell({"a-1"}).ok());
  net::TaskGroup group(context_.get_executor(), "test");
  group.spawn(router_->run());
  context_.run_for(milliseconds(600));
  EXPECT_EQ(router_->counts().asked, 0);
  router_->stop();
  context_.run_for(seconds(1));
}

}  // namespace
}  // namespace kantha::noded
