#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "base/digest.h"
#include "base/net/sse.h"
#include "base/net/task_group.h"
#include "noded/activator/activator_daemon.h"

/// An activator over loopback, with pods that the test plays.
namespace kantha::noded {
namespace {

using namespace std::chrono_literals;
using Answer = std::optional<Result<net::HttpResponse>>;

constexpr const char* kChat = R"({"messages":[{"role":"user","content":"hello"}]})";

net::Task<void> call_into(net::HttpClient& client, net::Endpoint where, net::HttpRequest request,
                          Answer& out) {
  out = co_await client.call(std::move(where), std::move(request), 20s);
}

class ActivatorTest : public testing::Test {
 protected:
  ActivatorTest() {
    options_.admin = net::Endpoint{.host = "127.0.0.1", .port = 0};
    options_.endpoint_grace = 0ms;
    options_.drain_timeout = 5s;
  }
  ~ActivatorTest() override {
    if (daemon_) {
      daemon_->shut_down();
      daemon_->shut_down();
      run_to_end();
    }
    if (pod_) pod_->close();
    context_.restart();
    context_.run_for(50ms);
  }

  void start() {
    daemon_ = std::make_unique<ActivatorDaemon>(context_, options_, system_clock());
    const auto admin = daemon_->start();
    ASSERT_TRUE(admin.ok()) << admin.error().message;
    admin_ = *admin;
  }
  void run_to_end() {
    context_.restart();
    context_.run_for(10s);
  }

  ::testing::AssertionResult reached(const std::function<bool()>& condition) {
    const TimePoint until = system_clock().now() + 10s;
    while (!condition()) {
      if (system_clock().now() > until) return ::testing::AssertionFailure() << "not reached";
      context_.restart();
      context_.run_for(5ms);
    }
    return ::testing::AssertionSuccess();
  }

  Result<net::HttpResponse> call(const net::Endpoint& where, net::HttpRequest request) {
    Answer out;
    tasks_.spawn(call_into(client_, where, std::move(request), out));
    EXPECT_TRUE(reached([&] { return out.has_value(); }));
    return out ? *out : Result<net::HttpResponse>(unavailable("no answer"));
  }

  /// Tells the activator of one object.
  LaneState tell(Activation entry) {
    entry.id = "uid-1";
    entry.name = "a/s";
    net::HttpRequest request{.method = "PUT", .target = "/admin/v1/activations"};
    request.body = dump_json(to_json(ActivationTable{{std::move(entry)}}));
    const auto answer = call(admin_, request);
    EXPECT_TRUE(answer.ok() && answer->status == 200);
    const auto state = activator_state_from_json(Json::parse(answer->body));
    EXPECT_TRUE(state.ok());
    EXPECT_EQ(state->table, sha256_hex(request.body));
    EXPECT_EQ(state->lanes.size(), 1U);
    lane_at_ = {"127.0.0.1", static_cast<std::uint16_t>(state->lanes.at(0).port), {}};
    EXPECT_EQ(state->lanes.at(0).error, "");
    return state->lanes.at(0);
  }
  LaneState lane() const { return daemon_->state().lanes.at(0); }

  /// A pod's door.
  std::string start_pod(net::HttpHandler handler, std::string host = "127.0.0.1") {
    pod_ = std::make_unique<net::HttpServer>(context_.get_executor(), std::move(handler));
    return pod_->listen(net::Endpoint{.host = std::move(host), .port = 0})->to_string();
  }
  /// One that answers, and keeps the last request.
  std::string start_pod(std::string host = "127.0.0.1") {
    return start_pod(
        [this](net::HttpRequest request, net::ResponseWriter& writer) {
          return answer(std::move(request), writer);
        },
        std::move(host));
  }
  bool has_ipv6() {
    net::HttpServer probe(context_.get_executor(), {});
    return probe.listen(net::Endpoint{.host = "::1", .port = 0}).ok();
  }
  net::Task<void> answer(net::HttpRequest request, net::ResponseWriter& writer) {
    seen_ = std::move(request);
    net::HttpResponse response{
        .status = 200, .headers = {{"Content-Type", "application/json"}}, .body = "{\"a\":1}"};
    (void)co_await writer.send(std::move(response));
  }

  static net::HttpRequest chat(const char* body = kChat) {
    net::HttpRequest request{.method = "POST", .target = "/v1/chat/completions"};
    request.headers.set("Content-Type", "application/json");
    request.body = body;
    return request;
  }
  void begin(net::HttpRequest request, Answer& out) {
    tasks_.spawn(call_into(client_, lane_at_, std::move(request), out));
  }

  boost::asio::io_context context_{1};
  ActivatorOptions options_;
  std::unique_ptr<ActivatorDaemon> daemon_;
  std::unique_ptr<net::HttpServer> pod_;
  net::HttpClient client_{context_.get_executor()};
  net::TaskGroup tasks_{context_.get_executor(), "test"};
  net::Endpoint admin_;
  net::Endpoint lane_at_;
  std::optional<net::HttpRequest> seen_;
};

TEST_F(ActivatorTest, HoldsARequestUntilAPodIsThereAndPassesItOnAsItCame) {
  start();
  EXPECT_GT(tell({}).port, 0);
  net::HttpRequest request = chat();
  request.headers.set("Authorization", "Bearer secret");
  request.headers.set("x-kantha-hop", "forged");
  Answer out;
  begin(request, out);
  ASSERT_TRUE(reached([&] { return lane().held == 1; }));
  EXPECT_EQ(lane().idle_ms, 0);
  EXPECT_FALSE(out);

  tell({.pods = {start_pod()}});
  ASSERT_TRUE(reached([&] { return out.has_value(); }));
  ASSERT_TRUE(out->ok()) << out->error().to_string();
  EXPECT_EQ((*out)->status, 200);
  EXPECT_EQ((*out)->body, "{\"a\":1}");
  EXPECT_EQ((*out)->headers.find("Connection"), "close") << "the next one finds the pods";
  EXPECT_TRUE((*out)->headers.find("x-request-id"));
  ASSERT_TRUE(seen_);
  EXPECT_EQ(seen_->body, kChat);
  EXPECT_EQ(seen_->headers.find("Authorization"), "Bearer secret");
  EXPECT_FALSE(seen_->headers.find("x-kantha-hop"));
  EXPECT_EQ(lane().waiting, 0);
  EXPECT_EQ(lane().total, 1);
}

TEST_F(ActivatorTest, WhereItListensAtEveryAddressItServesBothFamilies) {
  if (!has_ipv6()) GTEST_SKIP() << "*** no IPv6 on this machine: this test did not run ***";
  options_.host = "*";
  options_.admin.host = "*";
  start();
  admin_.host = "::1";
  tell({.pods = {start_pod("::1")}});
  for (const char* host : {"::1", "127.0.0.1"}) {
    lane_at_.host = host;
    const auto answer = call(lane_at_, chat());
    ASSERT_TRUE(answer.ok()) << host << ": " << answer.error().to_string();
    EXPECT_EQ(answer->status, 200) << host;
    admin_.host = host;
    EXPECT_EQ(call(admin_, {.target = "/ready"})->status, 200) << host;
  }
  ASSERT_TRUE(seen_);
  EXPECT_EQ(seen_->body, kChat);
}

net::Task<void> stream_two(net::HttpRequest, net::ResponseWriter& writer) {
  net::Headers headers{{"Content-Type", "text/event-stream"}};
  (void)co_await writer.start(200, std::move(headers));
  for (const char* text : {"one", "two"}) {
    (void)co_await writer.write(net::sse_data(std::string("{\"choices\":[{\"index\":0,\"delta\":"
                                                          "{\"content\":\"") +
                                              text + "\"}}]}"));
    co_await net::sleep_for(20ms);
  }
  (void)co_await writer.write(net::sse_data("[DONE]"));
  (void)co_await writer.finish();
}

TEST_F(ActivatorTest, AStreamArrivesWhole) {
  start();
  tell({});
  Answer out;
  begin(chat(R"({"stream":true,"messages":[{"role":"user","content":"hello"}]})"), out);
  ASSERT_TRUE(reached([&] { return lane().held == 1; }));
  tell({.pods = {start_pod(stream_two)}});
  ASSERT_TRUE(reached([&] { return out.has_value(); }));
  ASSERT_TRUE(out->ok()) << out->error().to_string();
  const std::string& body = (*out)->body;
  EXPECT_LT(body.find("one"), body.find("two"));
  EXPECT_NE(body.find("[DONE]"), std::string::npos) << body;
}

TEST_F(ActivatorTest, BeyondItsRoomItRefusesAndAClientThatLeavesFreesItsPlace) {
  options_.requests_max = 1;
  start();
  tell({});
  auto leaving = std::make_unique<net::HttpClient>(context_.get_executor());
  Answer first;
  net::HttpRequest request = chat();
  auto cancel = std::make_shared<net::CancelSignal>();
  const auto open = [](net::HttpClient& client, net::Endpoint where, net::HttpRequest asked,
                       std::shared_ptr<net::CancelSignal> signal, bool& done) -> net::Task<void> {
    (void)co_await client.open(std::move(where), std::move(asked), 20s, std::move(signal));
    done = true;
  };
  bool done = false;
  tasks_.spawn(open(*leaving, lane_at_, request, cancel, done));
  ASSERT_TRUE(reached([&] { return lane().held == 1; }));

  const auto refused = call(lane_at_, chat());
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->headers.find("Retry-After"), "5");
  EXPECT_NE(refused->body.find("activator_full"), std::string::npos) << refused->body;

  cancel->cancel();
  ASSERT_TRUE(reached([&] { return done && lane().waiting == 0; }));
  Answer second;
  begin(chat(), second);
  ASSERT_TRUE(reached([&] { return lane().held == 1; }));
  EXPECT_FALSE(second);
  tell({.pods = {start_pod()}});
  ASSERT_TRUE(reached([&] { return second.has_value(); }));
}

TEST_F(ActivatorTest, BodiesAreBoundedTogether) {
  options_.bytes_max = 100;
  start();
  tell({});
  const auto refused = call(lane_at_, chat(std::string(101, ' ').c_str()));
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->status, 503);
  EXPECT_NE(refused->body.find("above 100"), std::string::npos) << refused->body;
}

TEST_F(ActivatorTest, NobodyWaitsLongerThanTheHoldTime) {
  options_.hold_timeout = 100ms;
  start();
  tell({});
  const auto late = call(lane_at_, chat());
  ASSERT_TRUE(late.ok());
  EXPECT_EQ(late->status, 503);
  EXPECT_TRUE(late->headers.find("Retry-After"));
  EXPECT_NE(late->body.find("no pod of a/s is ready yet"), std::string::npos) << late->body;
  EXPECT_EQ(lane().waiting, 0);
}

TEST_F(ActivatorTest, WithoutAListedKeyNobodyWaits) {
  start();
  Activation entry{.asks_for_keys = true, .keys = std::nullopt, .pods = {}};
  tell(entry);
  net::HttpRequest request = chat();
  request.headers.set("Authorization", "Bearer right");
  EXPECT_EQ(call(lane_at_, request)->status, 503) << "the keys are not known yet";
  entry.keys = R"({"keys":[{"tenant":"t","sha256":")" + sha256_hex("right") + "\"}]}";
  tell(entry);
  EXPECT_EQ(call(lane_at_, chat())->status, 401);
  request.headers.set("Authorization", "Bearer wrong");
  EXPECT_EQ(call(lane_at_, request)->status, 401);
  EXPECT_EQ(lane().total, 0) << "and none of them wakes anybody";
  request.headers.set("Authorization", "Bearer right");
  Answer out;
  begin(request, out);
  ASSERT_TRUE(reached([&] { return lane().held == 1; }));
  entry.pods = {start_pod()};
  tell(entry);
  ASSERT_TRUE(reached([&] { return out.has_value(); }));
  EXPECT_EQ((*out)->status, 200);
}

TEST_F(ActivatorTest, ProbesAndStrayRequestsWakeNobody) {
  start();
  tell({});
  const std::pair<net::HttpRequest, int> table[] = {
      {{.target = "/health"}, 200},  {{.target = "/version"}, 200},
      {{.target = "/metrics"}, 503}, {{.target = "/admin/v1/state"}, 404},
      {{.target = "/"}, 404},        {{.target = "/v1/chat/completions"}, 405},
  };
  for (const auto& [request, status] : table) {
    const auto answer = call(lane_at_, request);
    ASSERT_TRUE(answer.ok()) << request.target;
    EXPECT_EQ(answer->status, status) << request.target;
  }
  EXPECT_EQ(lane().total, 0);
}

TEST_F(ActivatorTest, APodThatIsGoneCostsATryAndNoMore) {
  start();
  const std::string gone = start_pod();
  pod_->close();
  pod_.reset();
  const std::string there = start_pod();
  tell({.pods = {gone, there}});
  for (int i = 0; i < 3; ++i) {
    const auto answer = call(lane_at_, chat());
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->status, 200);
  }
}

TEST_F(ActivatorTest, AtTheEndWhatWaitsIsStillPassedOn) {
  start();
  tell({});
  Answer out;
  begin(chat(), out);
  ASSERT_TRUE(reached([&] { return lane().held == 1; }));
  daemon_->shut_down();
  EXPECT_EQ(call(admin_, {.target = "/ready"})->status, 503);
  EXPECT_EQ(call(admin_, {.target = "/live"})->status, 200);
  tell({.pods = {start_pod()}});
  ASSERT_TRUE(reached([&] { return out.has_value(); }));
  EXPECT_EQ((*out)->status, 200);
}

TEST_F(ActivatorTest, WhatStillWaitsWhenTheTimeIsOverIsTold) {
  options_.drain_timeout = 50ms;
  start();
  tell({});
  Answer out;
  begin(chat(), out);
  ASSERT_TRUE(reached([&] { return lane().held == 1; }));
  daemon_->shut_down();
  ASSERT_TRUE(reached([&] { return out.has_value(); }));
  ASSERT_TRUE(out->ok()) << out->error().to_string();
  EXPECT_EQ((*out)->status, 503);
  EXPECT_NE((*out)->body.find("send the request again"), std::string::npos) << (*out)->body;
}

TEST_F(ActivatorTest, AnObjectThatIsGoneAnswersNobodyAnyMore) {
  start();
  tell({});
  Answer out;
  begin(chat(), out);
  ASSERT_TRUE(reached([&] { return lane().held == 1; }));
  net::HttpRequest request{.method = "PUT", .target = "/admin/v1/activations"};
  request.body = R"({"entries":[]})";
  ASSERT_EQ(call(admin_, request)->status, 200);
  ASSERT_TRUE(reached([&] { return out.has_value(); }));
  EXPECT_EQ((*out)->status, 503);
  EXPECT_TRUE(daemon_->state().lanes.empty());
  EXPECT_FALSE(call(lane_at_, chat()).ok()) << "nobody listens there";
}

TEST_F(ActivatorTest, ATableThatIsWrongChangesNothing) {
  start();
  tell({});
  net::HttpRequest request{.method = "PUT", .target = "/admin/v1/activations"};
  for (const char* body :
       {"", "[]", "{}", R"({"entries":[{"id":""}]})", R"({"entries":[{"id":"a"},{"id":"a"}]})",
        R"({"entries":[{"id":"a","port":70000}]})", R"({"entries":[{"id":"a","pods":"x"}]})"}) {
    request.body = body;
    EXPECT_EQ(call(admin_, request)->status, 400) << body;
  }
  EXPECT_EQ(daemon_->state().lanes.size(), 1U);
  EXPECT_EQ(call(admin_, {.target = "/admin/v1/state"})->status, 404);
}

TEST_F(ActivatorTest, ItsSeriesCountAllObjectsTogether) {
  start();
  tell({});
  Answer out;
  begin(chat(), out);
  ASSERT_TRUE(reached([&] { return lane().held == 1; }));
  const auto page = call(admin_, {.target = "/metrics"});
  ASSERT_TRUE(page.ok());
  for (const char* line : {"kantha_activator_requests_held 1\n", "kantha_activator_objects 1\n",
                           "kantha_activator_requests_total 1\n"}) {
    EXPECT_NE(page->body.find(line), std::string::npos) << page->body;
  }
  tell({.pods = {start_pod()}});
  ASSERT_TRUE(reached([&] { return out.has_value(); }));
}

}  // namespace
}  // namespace kantha::noded
