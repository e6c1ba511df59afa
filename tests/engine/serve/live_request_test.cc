#include "engine/serve/live_request.h"

#include <gtest/gtest.h>

#include "tests/engine/serve/served.h"
#include "tests/fake/byte_vocabulary.h"

// What happens when somebody stops: the client, a slow reader, the server.
namespace kantha::serve {
namespace {

using fake::byte_tokens;
using fake::FakeReply;
using sched::FinishReason;

void say_and_wait(Served& served, const std::string& text) {
  served.engine().on_submit([text](const sched::GenerateSpec&) {
    return FakeReply{.tokens = byte_tokens(text), .finish = std::nullopt};
  });
}

bool becomes_idle(Served& served) {
  return net::eventually([&] { return served.engine().open_requests() == 0; });
}

TEST(LiveRequest, ClientThatLeavesAbortsTheEngine) {  // report B014
  Served served;
  say_and_wait(served, "abc");
  for (const bool stream : {true, false}) {
    SCOPED_TRACE(stream);
    auto peer = served.open_post("/v1/completions", completion({{"stream", stream}}));
    if (stream) EXPECT_NE(peer->read_until("\"c\"").find("\"c\""), std::string::npos);
    EXPECT_TRUE(net::eventually([&] { return served.engine().open_requests() == 1; }));
    const TimePoint left = system_clock().now();
    peer->close();
    EXPECT_TRUE(becomes_idle(served));
    EXPECT_LT(system_clock().now() - left, std::chrono::seconds(1));
  }
  EXPECT_TRUE(net::eventually([&] {
    return served.metric("vllm:request_success_total", R"(finished_reason="abort")") == 2;
  }));
}

TEST(LiveRequest, EveryChoiceOfALeavingClientIsAborted) {  // report B014
  Served served;
  say_and_wait(served, "a");
  const Json body = completion({{"prompt", {"a", "b", "c"}}, {"stream", true}});
  auto peer = served.open_post("/v1/completions", body);
  EXPECT_TRUE(net::eventually([&] { return served.engine().open_requests() == 3; }));
  peer->close();
  EXPECT_TRUE(becomes_idle(served));
  EXPECT_EQ(served.engine().aborted().size(), 3u);
}

TEST(LiveRequest, SilentStreamsCarryCommentsUntilATokenComes) {  // report B016
  Served served({.keepalive_s = 0.05});
  say_and_wait(served, "");
  auto peer = served.open_post("/v1/chat/completions", chat({{"stream", true}}));
  EXPECT_NE(peer->read_until("\r\n\r\n").find("200"), std::string::npos);  // headers at once
  EXPECT_NE(peer->read_until(": waiting\n\n").find(": waiting"), std::string::npos);
  served.engine().emit(served.engine().submitted().at(0).id, byte_tokens("ok"),
                       FinishReason::kStop);
  const std::string rest = peer->read_until("[DONE]\n\n");
  EXPECT_NE(rest.find("[DONE]"), std::string::npos);
}

TEST(LiveRequest, ReaderThatDoesNotReadIsCutOff) {
  Served served;
  say_and_wait(served, "");
  auto peer = served.open_post("/v1/completions", completion({{"stream", true}}));
  EXPECT_TRUE(net::eventually([&] { return served.engine().open_requests() == 1; }));
  const RequestId id = served.engine().submitted().at(0).id;
  // Far more than the socket's buffers hold, so that the server's write blocks and the queue fills.
  for (int i = 0; i < 200 && served.engine().open_requests() == 1; ++i) {
    served.engine().emit(id, std::vector<TokenId>(1000, 'a'), std::nullopt);
  }
  EXPECT_TRUE(becomes_idle(served));
  EXPECT_EQ(served.engine().aborted().size(), 1u);
  peer->read_to_end();  // the connection ends without [DONE]
  EXPECT_EQ(served.call("GET", "/health").status, 200);
}

TEST(LiveRequest, HealthAndMetricsAnswerWhileTheEngineIsBusy) {  // report B102
  Served served;
  say_and_wait(served, "a");
  std::vector<std::unique_ptr<net::RawPeer>> peers;
  for (int i = 0; i < 20; ++i) {
    peers.push_back(served.open_post("/v1/completions", completion({{"stream", true}})));
  }
  EXPECT_TRUE(net::eventually([&] { return served.engine().open_requests() == 20; }));
  for (const char* path : {"/health", "/ready", "/live", "/metrics"}) {
    EXPECT_EQ(served.call("GET", path).status, 200) << path;
  }
}

TEST(LiveRequest, EventsAfterCloseTouchNothing) {
  fake::FakeEnginePort engine({});
  std::shared_ptr<LiveRequest> request;
  {
    boost::asio::io_context io;
    const auto queue = std::make_shared<EventQueue>(io.get_executor(), system_clock());
    request = std::make_shared<LiveRequest>(queue, engine, 10);
    request->close();
  }
  // The context is gone, as at the end of the program; the engine's last word still comes.
  request->on_events({{.id = {1}, .finish = FinishReason::kAbort}});
  std::vector<TimedEvent> events;
  request->take(events);
  EXPECT_TRUE(events.empty());
}

}  // namespace
}  // namespace kantha::serve
