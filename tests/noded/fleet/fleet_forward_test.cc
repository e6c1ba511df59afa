#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <memory>

#include "noded/fleet/fleet_router.h"
#include "noded/gateway/forwarder.h"

namespace kantha::noded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ReadyGate final : public EngineGate {
 public:
  explicit ReadyGate(net::Endpoint engine) : engine_(std::move(engine)) {}
  EnginePhase phase() const override { return phase_; }
  std::string message() const override { return "as the test says"; }
  net::Task<bool> wait_ready(Duration timeout) override {
    co_await net::sleep_for(std::min<Duration>(timeout, milliseconds(5)));
    co_return phase_ == EnginePhase::kReady;
  }
  void suspect() override {}
  net::Endpoint endpoint() const override { return engine_; }
  bool was_ready() const override { return true; }
  EnginePhase phase_ = EnginePhase::kReady;

 private:
  net::Endpoint engine_;
};

/// The real forwarder and router of pod a-0, its engine, and pod a-1, whose door the test scripts.
/// Its engine is away until the request is at a-1, so that it goes there first.
class FleetForwardTest : public testing::Test {
 protected:
  FleetForwardTest() {
    char pattern[] = "/tmp/kantha-hop-XXXXXX";
    folder_ = mkdtemp(pattern);
    gate_ = std::make_unique<ReadyGate>(at("engine"));
    gate_->phase_ = EnginePhase::kStarting;
    FleetSettings settings;
    settings.pod = "a-0";
    settings.model = "m";
    settings.ask_timeout = settings.ask_every = milliseconds(50);
    router_ = std::make_unique<FleetRouter>(context_.get_executor(), *gate_, client_, seal_,
                                            settings, system_clock());
    forwarder_ = std::make_unique<Forwarder>(context_.get_executor(), *router_, client_,
                                             ForwardPolicy(), system_clock());
    router_->on_lost([this](const std::string& name) { forwarder_->recall_from(name); });
    serve("engine", [](net::HttpRequest, net::ResponseWriter& writer) -> net::Task<void> {
      static_cast<void>(co_await writer.send({.status = 200, .body = "engine"}));
    });
    serve("door", [this](net::HttpRequest request, net::ResponseWriter& writer) {
      return forward(std::move(request), writer);
    });
  }
  ~FleetForwardTest() override { std::filesystem::remove_all(folder_); }

  net::Endpoint at(const std::string& name) const {
    net::Endpoint out;
    out.unix_path = folder_ + "/" + name;
    return out;
  }

  net::Task<void> forward(net::HttpRequest request, net::ResponseWriter& writer) {
    outcome_ = co_await forwarder_->forward(std::move(request), writer);
  }

  void serve(const std::string& name, net::HttpHandler handler) {
    servers_.push_back(
        std::make_unique<net::HttpServer>(context_.get_executor(), std::move(handler)));
    ASSERT_TRUE(servers_.back()->listen(at(name)).ok());
  }

  /// The answer of the door to one request, with a-1 in the fleet.
  Result<net::HttpResponse> ask() {
    const std::int64_t now_ms =
        std::chrono::duration_cast<milliseconds>(system_clock().wall_now().time_since_epoch())
            .count();
    const FleetView view{now_ms, {{"a-1", "unix:" + folder_ + "/a-1", "m", ""}}};
    EXPECT_TRUE(router_->take_view(dump_json(to_json(view))).ok());
    Result<net::HttpResponse> out = unavailable("not run");
    net::TaskGroup group(context_.get_executor(), "test");
    group.spawn(router_->run());
    group.spawn(call(out));
    context_.run_for(seconds(20));
    EXPECT_EQ(group.running(), 0U);
    return out;
  }

  net::Task<void> call(Result<net::HttpResponse>& out) {
    net::HttpRequest request;
    request.method = "POST";
    request.target = "/v1/completions";
    request.body = R"({"prompt":"a"})";
    out = co_await user_.call(at("door"), std::move(request), seconds(15));
    router_->stop();
    for (const auto& server : servers_) server->close();
  }

  static net::Headers head(const std::string& pod) {
    return {{std::string(kLoadHeader), load_text({pod, "m", EnginePhase::kReady, 0, 0, 0})}};
  }

  boost::asio::io_context context_{1};
  std::string folder_;
  std::unique_ptr<ReadyGate> gate_;
  net::HttpClient client_{context_.get_executor()};
  net::HttpClient user_{context_.get_executor()};
  HopSeal seal_{"a-0", [] { return std::string("secret"); }, system_clock()};
  std::unique_ptr<FleetRouter> router_;
  std::unique_ptr<Forwarder> forwarder_;
  std::vector<std::unique_ptr<net::HttpServer>> servers_;
  ForwardOutcome outcome_;
};

TEST_F(FleetForwardTest, APeersAnswerIsPassedOnWithoutWhatIsMeantForPods) {
  std::string seen_hop;
  serve("a-1", [&](net::HttpRequest request, net::ResponseWriter& writer) -> net::Task<void> {
    if (request.method == "POST") seen_hop = request.headers.find(kHopHeader).value_or("");
    static_cast<void>(
        co_await writer.send({.status = 200, .headers = head("a-1"), .body = "peer"}));
  });
  const auto answer = ask();
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->body, "peer");
  EXPECT_FALSE(answer->headers.find(kLoadHeader));
  EXPECT_EQ(outcome_.target, "a-1");
  const HopSeal peer("a-1", [] { return std::string("secret"); }, system_clock());
  EXPECT_TRUE(peer.open(seen_hop, "POST", "/v1/completions").ok());
}

TEST_F(FleetForwardTest, ARefusalGoesToTheNextOne) {
  serve("a-1", [&](net::HttpRequest, net::ResponseWriter& writer) -> net::Task<void> {
    gate_->phase_ = EnginePhase::kReady;
    net::HttpResponse refusal{.status = 503, .headers = head("a-1"), .body = "no"};
    refusal.headers.set(kRefusedHeader, "draining");
    static_cast<void>(co_await writer.send(std::move(refusal)));
  });
  const auto answer = ask();
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->body, "engine");
  EXPECT_EQ(outcome_.retries, 1);
}

TEST_F(FleetForwardTest, APodThatLeavesSendsNewRequestsToTheOthers) {
  serve("a-1", [&](net::HttpRequest, net::ResponseWriter& writer) -> net::Task<void> {
    static_cast<void>(
        co_await writer.send({.status = 200, .headers = head("a-1"), .body = "peer"}));
  });
  gate_->phase_ = EnginePhase::kReady;
  forwarder_->set_leaving();
  forwarder_->set_draining();
  const auto answer = ask();
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->body, "peer");
  EXPECT_EQ(answer->headers.find("Connection"), "close");
}

TEST_F(FleetForwardTest, APodThatLeavesAnswersItselfWhereTheOthersTakeNothing) {
  serve("a-1", [&](net::HttpRequest, net::ResponseWriter& writer) -> net::Task<void> {
    net::HttpResponse refusal{.status = 503, .headers = head("a-1"), .body = "no"};
    refusal.headers.set(kRefusedHeader, "draining");
    static_cast<void>(co_await writer.send(std::move(refusal)));
  });
  gate_->phase_ = EnginePhase::kReady;
  forwarder_->set_leaving();
  const auto answer = ask();
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->body, "engine");
}

TEST_F(FleetForwardTest, NothingOfAnAnswerOfSomebodyElseReachesTheClient) {
  serve("a-1", [&](net::HttpRequest, net::ResponseWriter& writer) -> net::Task<void> {
    gate_->phase_ = EnginePhase::kReady;
    static_cast<void>(
        co_await writer.send({.status = 200, .headers = head("b-3"), .body = "a lie"}));
  });
  const auto answer = ask();
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->body, "engine");
}

TEST_F(FleetForwardTest, WhatWaitsAtAPeerThatIsGivenUpGoesToTheNextOne) {
  serve("a-1", [&](net::HttpRequest, net::ResponseWriter& writer) -> net::Task<void> {
    gate_->phase_ = EnginePhase::kReady;
    co_await net::sleep_for(seconds(5));
    static_cast<void>(
        co_await writer.send({.status = 200, .headers = head("a-1"), .body = "late"}));
  });
  const auto answer = ask();
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->body, "engine");
  EXPECT_LT(outcome_.total, seconds(4));
  EXPECT_EQ(router_->counts().opened, 1);
}

}  // namespace
}  // namespace kantha::noded
