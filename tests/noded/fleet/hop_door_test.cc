#include "noded/fleet/hop_door.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <functional>

namespace kantha::noded {
namespace {

using std::chrono::seconds;

class NoGate final : public EngineGate {
 public:
  EnginePhase phase() const override { return EnginePhase::kReady; }
  std::string message() const override { return {}; }
  net::Task<bool> wait_ready(Duration) override { co_return true; }
  void suspect() override {}
  net::Endpoint endpoint() const override { return {}; }
  bool was_ready() const override { return true; }
};

/// A door before a handler that tells what it was given.
class HopDoorTest : public testing::Test {
 protected:
  HopDoorTest() {
    router_.set_own_load([this] {
      PeerLoad load;
      load.phase = phase_;
      load.kv_pressure = 0.5;
      return load;
    });
  }

  /// What the door makes of one request.
  Result<net::HttpResponse> answer_to(net::HttpRequest request, DoorKind kind = DoorKind::kPublic) {
    net::HttpServer server(context_.get_executor(),
                           [this, kind](net::HttpRequest got, net::ResponseWriter& writer) {
                             return door_.answer(std::move(got), writer, kind);
                           });
    const net::Endpoint at = *server.listen({.host = "127.0.0.1", .port = 0});
    Result<net::HttpResponse> out = unavailable("not run");
    bool done = false;
    net::TaskGroup group(context_.get_executor(), "test");
    group.spawn(call(at, std::move(request), out, done));
    for (int i = 0; i < 500 && !done; ++i) context_.run_for(std::chrono::milliseconds(10));
    server.close();
    context_.run_for(std::chrono::milliseconds(50));
    context_.restart();
    return out;
  }

  net::Task<void> call(net::Endpoint at, net::HttpRequest request, Result<net::HttpResponse>& out,
                       bool& done) {
    net::HttpClient client(context_.get_executor());
    out = co_await client.call(at, std::move(request), seconds(5));
    done = true;
  }

  net::HttpRequest request(const std::string& target, const std::string& mark) {
    net::HttpRequest out;
    out.target = target;
    out.headers.set("x-kantha-tenant", "blue");
    if (!mark.empty()) out.headers.set(kHopHeader, mark);
    return out;
  }
  std::string mark_for(const std::string& target) { return sender_.seal("a-1", "GET", target); }

  boost::asio::io_context context_{1};
  NoGate gate_;
  net::HttpClient client_{context_.get_executor()};
  HopSeal sender_{"a-0", [] { return std::string("secret"); }, system_clock()};
  HopSeal seal_{"a-1", [] { return std::string("secret"); }, system_clock()};
  FleetRouter router_{context_.get_executor(),      gate_,         client_, seal_,
                      {.pod = "a-1", .model = "m"}, system_clock()};
  EnginePhase phase_ = EnginePhase::kReady;
  std::string seen_hop_;
  std::string seen_tenant_;
  HopDoor door_{router_, seal_,
                [this](net::HttpRequest got, net::ResponseWriter& writer) -> net::Task<void> {
                  seen_hop_ = got.headers.find(kHopHeader).value_or("");
                  seen_tenant_ = got.headers.find("x-kantha-tenant").value_or("");
                  static_cast<void>(co_await writer.send({.status = 200, .body = "inner"}));
                }};
};

TEST_F(HopDoorTest, ASealedRequestGoesOnAsAHopAndItsAnswerTellsTheLoad) {
  const auto answer = answer_to(request("/v1/models", mark_for("/v1/models")));
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->body, "inner");
  EXPECT_EQ(seen_hop_, "1");
  EXPECT_EQ(seen_tenant_, "blue") << "as the pod that asked its key says";
  const auto load = load_from_text(answer->headers.find(kLoadHeader).value_or(""));
  ASSERT_TRUE(load.ok());
  EXPECT_EQ(load->pod, "a-1");
  EXPECT_EQ(load->model, "m");
  EXPECT_EQ(load->kv_pressure, 0.5);
}

TEST_F(HopDoorTest, ClientsCannotMakeHopsNorTenants) {
  for (const std::string& mark : {std::string(), std::string("1"), mark_for("/v1/completions"),
                                  sender_.seal("a-2", "GET", "/v1/models")}) {
    seen_hop_ = seen_tenant_ = "?";
    const auto answer = answer_to(request("/v1/models", mark));
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(seen_hop_, "") << mark;
    EXPECT_EQ(seen_tenant_, "") << mark;
    EXPECT_FALSE(answer->headers.find(kLoadHeader)) << "loads are for pods";
  }
  EXPECT_EQ(door_.forged(), 3);
}

TEST_F(HopDoorTest, APodThatIsNotReadyRefusesPeersAtOnceAndClientsNot) {
  phase_ = EnginePhase::kDraining;
  const auto refused = answer_to(request("/v1/models", mark_for("/v1/models")));
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->headers.find(kRefusedHeader), "draining");
  const auto held = answer_to(request("/v1/models", ""));
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(held->body, "inner");
}

TEST_F(HopDoorTest, TheLoadPageIsForPeersOnly) {
  const std::string path(kLoadPath);
  const auto load = answer_to(request(path, mark_for(path)));
  ASSERT_TRUE(load.ok());
  EXPECT_EQ(load->status, 204);
  EXPECT_TRUE(load->headers.find(kLoadHeader));
  EXPECT_EQ(answer_to(request(path, ""))->body, "inner") << "where it is no route";
}

TEST_F(HopDoorTest, WhoeverReachesThePeersSocketIsAPeer) {
  const auto answer = answer_to(request("/v1/models", ""), DoorKind::kPeers);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(seen_hop_, "1");
  EXPECT_TRUE(answer->headers.find(kLoadHeader));
}

}  // namespace
}  // namespace kantha::noded
