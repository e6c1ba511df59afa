#include "noded/gateway/forwarder.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/net/sse.h"
#include "tests/noded/gateway/door_fixture.h"

namespace kantha::noded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using ForwarderTest = DoorFixture;

net::Task<void> echo(net::HttpRequest request, net::ResponseWriter& writer) {
  net::HttpResponse response;
  response.headers.set("Content-Type", "application/json");
  response.headers.set("X-Seen-Target", request.target);
  response.body = request.body;
  EXPECT_TRUE((co_await writer.send(std::move(response))).ok());
}

TEST_F(ForwarderTest, PassesRequestAndAnswerUnchanged) {
  run(echo, [this]() -> net::Task<void> {
    const auto answer = co_await post("/v1/completions?x=1", R"({"prompt":"a"})");
    EXPECT_TRUE(answer.ok());
    if (!answer.ok()) co_return;
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, R"({"prompt":"a"})");
    EXPECT_EQ(answer->headers.find("X-Seen-Target"), "/v1/completions?x=1");
  });
}

TEST_F(ForwarderTest, KeepsRoutesThatAreNotListedFromTheEngine) {
  run(echo, [this]() -> net::Task<void> {
    for (const char* path : {"/admin/v1/shutdown", "/v1/../admin/v1/drain", "//v1/completions",
                             "/V1/completions", "/v1/completions/", "/%761/completions", "/v1",
                             "/v1/models/", "/v1/models/../../admin/v1/state"}) {
      const auto answer = co_await post(path, "{}");
      EXPECT_TRUE(answer.ok()) << path;
      if (!answer.ok()) continue;
      EXPECT_EQ(answer->status, 404) << path;
      const auto json = parse_json(answer->body);
      EXPECT_TRUE(json.ok());
      if (!json.ok()) continue;
      for (const char* key : {"message", "type", "param", "code"}) {
        EXPECT_TRUE((*json)["error"].contains(key)) << key;
      }
      EXPECT_EQ((*json)["error"]["code"], "not_found");
    }
  });
}

TEST_F(ForwarderTest, KnowsSinceWhenNobodyAsked) {
  Duration during = seconds(1);
  const auto look = [this, &during](net::HttpRequest request,
                                    net::ResponseWriter& writer) -> net::Task<void> {
    during = forwarder_->idle_time();
    return echo(std::move(request), writer);
  };
  run(look, [this]() -> net::Task<void> {
    co_await net::sleep_for(milliseconds(30));
    EXPECT_GE(forwarder_->idle_time(), milliseconds(30)) << "since the start";
    (void)co_await post("/v1/completions", "{}");
    EXPECT_LT(forwarder_->idle_time(), milliseconds(30));
    co_await net::sleep_for(milliseconds(30));
    EXPECT_GE(forwarder_->idle_time(), milliseconds(30));
  });
  EXPECT_EQ(during, Duration::zero());
}

TEST_F(ForwarderTest, HoldsARequestUntilTheEngineIsReady) {
  gate_->phase_ = EnginePhase::kBackoff;
  int waits = 0;
  gate_->on_wait_ = [&] {
    if (++waits == 3) gate_->phase_ = EnginePhase::kReady;
  };
  run(echo, [this]() -> net::Task<void> {
    const auto answer = co_await post("/v1/completions", "{}");
    EXPECT_TRUE(answer.ok() && answer->status == 200);
  });
  EXPECT_EQ(waits, 3);
}

TEST_F(ForwarderTest, RefusesWithRetryAfterWhenNoEngineComesInTime) {
  gate_->phase_ = EnginePhase::kStarting;
  policy_.hold_timeout = milliseconds(50);
  run(echo, [this]() -> net::Task<void> {
    const auto answer = co_await post("/v1/completions", "{}");
    EXPECT_TRUE(answer.ok());
    if (!answer.ok()) co_return;
    EXPECT_EQ(answer->status, 503);
    EXPECT_EQ(answer->headers.find("Retry-After"), "1");
  });
}

TEST_F(ForwarderTest, RefusesAtOnceInACrashLoopAndHealthTellsTheTruth) {
  gate_->phase_ = EnginePhase::kCrashLoop;
  policy_.hold_timeout = seconds(600);
  run(echo, [this]() -> net::Task<void> {
    const auto answer = co_await post("/v1/chat/completions", "{}");
    EXPECT_TRUE(answer.ok() && answer->status == 503);
    net::HttpRequest health;
    health.target = "/health";
    const auto sick = co_await user_.call(door_at_, health, seconds(5));
    EXPECT_TRUE(sick.ok() && sick->status == 503);
    if (sick.ok()) EXPECT_NE(sick->body.find("crash_loop"), std::string::npos) << sick->body;
    gate_->phase_ = EnginePhase::kReady;
    const auto well = co_await user_.call(door_at_, health, seconds(5));
    EXPECT_TRUE(well.ok() && well->status == 200);
    net::HttpRequest live;
    live.target = "/live";
    const auto alive = co_await user_.call(door_at_, live, seconds(5));
    EXPECT_TRUE(alive.ok() && alive->status == 200);
  });
}

TEST_F(ForwarderTest, SendsAnUnansweredRequestAgainWhenItsEngineEnds) {
  int seen = 0;
  const auto dies_once = [&seen](net::HttpRequest request,
                                 net::ResponseWriter& writer) -> net::Task<void> {
    if (++seen == 1) {
      writer.abort();
      co_return;
    }
    co_await echo(std::move(request), writer);
  };
  run(dies_once, [this]() -> net::Task<void> {
    const auto answer = co_await post("/v1/completions", R"({"n":1})");
    EXPECT_TRUE(answer.ok() && answer->status == 200);
    if (answer.ok()) EXPECT_EQ(answer->body, R"({"n":1})");
  });
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(gate_->suspected_, 1);
}

TEST_F(ForwarderTest, ARequestThatEndsEveryEngineGetsNoThirdOne) {
  int seen = 0;
  const auto always_dies = [&seen](net::HttpRequest,
                                   net::ResponseWriter& writer) -> net::Task<void> {
    ++seen;
    writer.abort();
    co_return;
  };
  run(always_dies, [this]() -> net::Task<void> {
    const auto answer = co_await post("/v1/completions", "{}");
    EXPECT_TRUE(answer.ok() && answer->status == 502);
  });
  EXPECT_EQ(seen, 2);
}

TEST_F(ForwarderTest, PassesEveryPieceOfAStreamOnAsItComes) {
  bool second_sent = false;
  const auto two_events = [&](net::HttpRequest, net::ResponseWriter& writer) -> net::Task<void> {
    net::Headers headers{{"Content-Type", "text/event-stream"}};
    EXPECT_TRUE((co_await writer.start(200, headers)).ok());
    EXPECT_TRUE((co_await writer.write("data: one\n\n")).ok());
    co_await net::sleep_for(milliseconds(200));
    second_sent = true;
    EXPECT_TRUE((co_await writer.write("data: two\n\n")).ok());
    EXPECT_TRUE((co_await writer.finish()).ok());
  };
  run(two_events, [&]() -> net::Task<void> {
    net::HttpRequest request;
    request.method = "POST";
    request.target = "/v1/completions";
    auto opened = co_await user_.open(door_at_, std::move(request), seconds(5));
    EXPECT_TRUE(opened.ok());
    if (!opened.ok()) co_return;
    std::shared_ptr<net::ResponseStream> stream = std::move(opened).value();
    const auto first = co_await stream->read(seconds(5));
    EXPECT_TRUE(first.ok() && *first == "data: one\n\n");
    EXPECT_FALSE(second_sent) << "the first event waited for the second";
    const auto second = co_await stream->read(seconds(5));
    EXPECT_TRUE(second.ok() && *second == "data: two\n\n");
    const auto end = co_await stream->read(seconds(5));
    EXPECT_TRUE(end.ok() && end->empty());
  });
}

TEST_F(ForwarderTest, AStreamWhoseEngineEndsGetsOneErrorEventAndAProperEnd) {
  const auto dies = [](net::HttpRequest, net::ResponseWriter& writer) -> net::Task<void> {
    net::Headers headers{{"Content-Type", "text/event-stream"}};
    EXPECT_TRUE((co_await writer.start(200, headers)).ok());
    EXPECT_TRUE((co_await writer.write("data: one\n\ndata: tw")).ok());
    writer.abort();
  };
  run(dies, [this]() -> net::Task<void> {
    const auto answer = co_await post("/v1/completions", "{}");
    EXPECT_TRUE(answer.ok());
    if (!answer.ok()) co_return;
    net::SseReader reader;
    const std::vector<std::string> events = reader.feed(answer->body);
    EXPECT_EQ(events.size(), 3U);
    if (events.size() == 3U) EXPECT_NE(events[2].find("\"error\""), std::string::npos);
    EXPECT_EQ(answer->body.find("[DONE]"), std::string::npos);
  });
  EXPECT_EQ(forwarder_->counts().broken_streams, 1);
}

TEST_F(ForwarderTest, OtherApisStreamsEndInTheirOwnWords) {
  const auto dies = [](net::HttpRequest request, net::ResponseWriter& writer) -> net::Task<void> {
    const bool lines = request.target == "/api/chat";
    const net::Headers headers{
        {"Content-Type", lines ? "application/x-ndjson" : "text/event-stream"}};
    EXPECT_TRUE((co_await writer.start(200, headers)).ok());
    std::string bytes = lines ? "{\"done\":false}\n{\"do" : "event: ping\ndata: {}\n\neve";
    EXPECT_TRUE((co_await writer.write(std::move(bytes))).ok());
    writer.abort();
  };
  run(dies, [this]() -> net::Task<void> {
    const auto lines = co_await post("/api/chat", "{}");
    EXPECT_TRUE(lines.ok() && lines->body.ends_with("}\n"));
    EXPECT_TRUE(lines.ok() && lines->body.starts_with("{\"done\":false}\n{\"do\n{\"error\":\""))
        << lines->body;
    const auto events = co_await post("/v1/messages", R"({"stream":true})");
    EXPECT_TRUE(events.ok());
    if (!events.ok()) co_return;
    EXPECT_NE(events->body.find("eve\n\nevent: error\ndata: {\"type\":\"error\""),
              std::string::npos)
        << events->body;
  });
  EXPECT_EQ(forwarder_->counts().broken_streams, 2);
}

TEST_F(ForwarderTest, AnotherApisStreamIsAnsweredAgainByTheNextEngineAndGoesOn) {
  const auto line = [](const std::string& text) {
    return R"({"message":{"role":"assistant","content":")" + text + "\"},\"done\":false}\n";
  };
  const std::string last = R"({"message":{"role":"assistant","content":""},"done":true})"
                           "\n";
  std::vector<std::string> bodies;
  const auto dies_once = [&](net::HttpRequest request,
                             net::ResponseWriter& writer) -> net::Task<void> {
    bodies.push_back(request.body);
    const net::Headers headers{{"Content-Type", "application/x-ndjson"}};
    EXPECT_TRUE((co_await writer.start(200, headers)).ok());
    std::string bytes = line("one") + line("two");
    if (bodies.size() == 1) bytes += "{\"mess";
    if (bodies.size() == 2) bytes += line("three") + last;
    EXPECT_TRUE((co_await writer.write(std::move(bytes))).ok());
    if (bodies.size() == 1) {
      writer.abort();
    } else {
      EXPECT_TRUE((co_await writer.finish()).ok());
    }
  };
  run(dies_once, [&, this]() -> net::Task<void> {
    const auto answer = co_await post("/api/chat", R"({"model":"m"})");
    EXPECT_TRUE(answer.ok());
    if (answer.ok()) {
      EXPECT_EQ(answer->body, line("one") + line("two") + line("three") + last);
    }
  });
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_EQ(bodies[0], bodies[1]) << "with the same seed";
  EXPECT_TRUE(bodies[0].starts_with(R"({"model":"m","seed":)")) << bodies[0];
  EXPECT_EQ(forwarder_->counts().resumed, 1);
  EXPECT_EQ(forwarder_->counts().broken_streams, 0);
}

TEST_F(ForwarderTest, AnotherApisStreamEndsWithAnErrorWhenTheNextEngineSaysSomethingElse) {
  int seen = 0;
  const auto differs = [&](net::HttpRequest, net::ResponseWriter& writer) -> net::Task<void> {
    const net::Headers headers{{"Content-Type", "application/x-ndjson"}};
    EXPECT_TRUE((co_await writer.start(200, headers)).ok());
    std::string bytes = R"({"response":"engine )" + std::to_string(++seen) + "\",\"done\":false}\n";
    EXPECT_TRUE((co_await writer.write(std::move(bytes))).ok());
    writer.abort();
  };
  run(differs, [this]() -> net::Task<void> {
    const auto answer = co_await post("/api/generate", "{}");
    EXPECT_TRUE(answer.ok());
    if (answer.ok()) {
      EXPECT_EQ(answer->body,
                "{\"response\":\"engine 1\",\"done\":false}\n"
                "{\"error\":\"the next engine answers something else\"}\n");
    }
  });
  EXPECT_EQ(seen, 2);
}

TEST_F(ForwarderTest, OtherApisAreRefusedAndSentOnInTheirOwnWords) {
  int seen = 0;
  const auto drains = [&seen](net::HttpRequest request,
                              net::ResponseWriter& writer) -> net::Task<void> {
    if (++seen > 2) {
      co_await echo(std::move(request), writer);
      co_return;
    }
    net::HttpResponse refusal{.status = 503, .body = R"({"error":"this server is draining"})"};
    EXPECT_TRUE((co_await writer.send(std::move(refusal))).ok());
  };
  run(drains, [this]() -> net::Task<void> {
    const auto answer = co_await post("/api/chat", R"({"stream":false})");
    EXPECT_TRUE(answer.ok() && answer->status == 200);
    const auto unknown = co_await post("/api/pull", "{}");
    EXPECT_TRUE(unknown.ok() && unknown->status == 404);
    EXPECT_TRUE(unknown.ok() && unknown->body.starts_with("{\"error\":\"")) << unknown->body;
  });
  EXPECT_EQ(seen, 3);
}

TEST_F(ForwarderTest, TheEngineLearnsWithinTenthsOfASecondThatTheClientLeft) {
  bool gone = false;
  const auto endless = [&gone](net::HttpRequest, net::ResponseWriter& writer) -> net::Task<void> {
    writer.on_client_gone([&gone] { gone = true; });
    for (int i = 0; i < 500 && !gone; ++i) co_await net::sleep_for(milliseconds(10));
  };
  run(endless, [&]() -> net::Task<void> {
    auto cancel = std::make_shared<net::CancelSignal>();
    net::TaskGroup leaver(context_.get_executor(), "leaver");
    leaver.spawn([](std::shared_ptr<net::CancelSignal> signal) -> net::Task<void> {
      co_await net::sleep_for(milliseconds(100));
      signal->cancel();
    }(cancel));
    net::HttpRequest request;
    request.method = "POST";
    request.target = "/v1/completions";
    const auto opened = co_await user_.open(door_at_, std::move(request), seconds(5), cancel);
    EXPECT_FALSE(opened.ok());
    co_await leaver.join();
    for (int i = 0; i < 50 && !gone; ++i) co_await net::sleep_for(milliseconds(10));
    EXPECT_TRUE(gone);
    for (int i = 0; i < 50 && forwarder_->counts().in_flight > 0; ++i) {
      co_await net::sleep_for(milliseconds(10));
    }
    EXPECT_EQ(forwarder_->counts().in_flight, 0);
  });
}

TEST_F(ForwarderTest, ADrainingPodRefusesNewRequestsAndClosesTheConnection) {
  run(echo, [this]() -> net::Task<void> {
    forwarder_->set_draining();
    const auto answer = co_await post("/v1/completions", "{}");
    EXPECT_TRUE(answer.ok() && answer->status == 503);
    net::HttpRequest ready;
    ready.target = "/ready";
    const auto health = co_await user_.call(door_at_, ready, seconds(5));
    EXPECT_TRUE(health.ok() && health->status == 503);
  });
}

TEST_F(ForwarderTest, ALeavingPodIsNotReadyAnswersAndEndsItsConnections) {
  const auto both = [](net::HttpRequest request, net::ResponseWriter& writer) -> net::Task<void> {
    if (request.path() == "/v1/completions") {
      co_await echo(std::move(request), writer);
      co_return;
    }
    net::Headers headers{{"Content-Type", "text/event-stream"}};
    EXPECT_TRUE((co_await writer.start(200, headers)).ok());
    EXPECT_TRUE((co_await writer.finish()).ok());
  };
  run(both, [this]() -> net::Task<void> {
    const auto before = co_await post("/v1/completions", "{}");
    EXPECT_TRUE(before.ok() && before->headers.find("Connection") != "close");
    forwarder_->set_leaving();
    net::HttpRequest ready;
    ready.target = "/ready";
    const auto health = co_await user_.call(door_at_, ready, seconds(5));
    EXPECT_TRUE(health.ok() && health->status == 503);
    for (const char* path : {"/v1/completions", "/v1/chat/completions"}) {
      const auto answer = co_await post(path, "{}");
      EXPECT_TRUE(answer.ok() && answer->status == 200) << path;
      if (answer.ok()) EXPECT_EQ(answer->headers.find("Connection"), "close") << path;
    }
  });
}

TEST_F(ForwarderTest, WhatADrainingEngineRefusesGoesToTheNextOne) {
  int seen = 0;
  const auto drains = [&seen](net::HttpRequest request,
                              net::ResponseWriter& writer) -> net::Task<void> {
    if (++seen > 4) {
      co_await echo(std::move(request), writer);
      co_return;
    }
    net::HttpResponse refusal{.status = 503, .body = R"({"error":{"code":"server_draining"}})"};
    EXPECT_TRUE((co_await writer.send(std::move(refusal))).ok());
  };
  run(drains, [this]() -> net::Task<void> {
    const auto answer = co_await post("/v1/completions", "{}");
    EXPECT_TRUE(answer.ok() && answer->status == 200);
  });
  EXPECT_EQ(seen, 5);
  EXPECT_GE(gate_->suspected_, 1);
}

TEST_F(ForwarderTest, AnEngineThatSaysItIsReadyAndTakesNothingIsNotAskedForEver) {
  policy_.hold_timeout = milliseconds(300);
  int seen = 0;
  const auto lies = [&seen](net::HttpRequest, net::ResponseWriter& writer) -> net::Task<void> {
    ++seen;
    net::HttpResponse refusal{.status = 503, .body = R"({"error":{"code":"server_draining"}})"};
    EXPECT_TRUE((co_await writer.send(std::move(refusal))).ok());
  };
  run(lies, [this]() -> net::Task<void> {
    const auto answer = co_await post("/v1/completions", "{}");
    EXPECT_TRUE(answer.ok() && answer->status == 503);
  });
  EXPECT_GT(seen, 1);
  EXPECT_LT(seen, 20) << "with a pause between";
  EXPECT_GE(gate_->suspected_, seen - 1) << "its keeper was told to look again each time";
}

TEST_F(ForwarderTest, AnEngineThatSaysItIsReadyAndIsNotThereIsNotAskedForEver) {
  policy_.hold_timeout = milliseconds(300);
  run(echo, [this]() -> net::Task<void> {
    engine_->close();
    const auto answer = co_await post("/v1/completions", "{}");
    EXPECT_TRUE(answer.ok() && answer->status == 503);
    if (answer.ok()) EXPECT_NE(answer->body.find("took the request in time"), std::string::npos);
  });
  EXPECT_GE(gate_->suspected_, 2);
}

TEST_F(ForwarderTest, StartupFailsOnlyUntilAnEngineWasReadyOnce) {
  run(echo, [this]() -> net::Task<void> {
    net::HttpRequest startup;
    startup.target = "/startup";
    gate_->was_ready_ = false;
    gate_->phase_ = EnginePhase::kStarting;
    const auto loading = co_await user_.call(door_at_, startup, seconds(5));
    EXPECT_TRUE(loading.ok() && loading->status == 503);
    if (loading.ok()) EXPECT_NE(loading->body.find("as the test says"), std::string::npos);
    gate_->was_ready_ = true;
    for (const EnginePhase phase : {EnginePhase::kReady, EnginePhase::kBackoff}) {
      gate_->phase_ = phase;
      const auto loaded = co_await user_.call(door_at_, startup, seconds(5));
      EXPECT_TRUE(loaded.ok() && loaded->status == 200);
    }
    forwarder_->set_draining();
    const auto draining = co_await user_.call(door_at_, startup, seconds(5));
    EXPECT_TRUE(draining.ok() && draining->status == 200);
  });
}

TEST_F(ForwarderTest, HoldingKeepsNewRequestsBackWithoutRefusingThem) {
  int seen = 0;
  const auto counts = [&seen](net::HttpRequest request,
                              net::ResponseWriter& writer) -> net::Task<void> {
    ++seen;
    co_await echo(std::move(request), writer);
  };
  run(counts, [&]() -> net::Task<void> {
    forwarder_->set_holding(true);
    net::TaskGroup releaser(context_.get_executor(), "releaser");
    releaser.spawn([](Forwarder* forwarder, int* hits) -> net::Task<void> {
      co_await net::sleep_for(milliseconds(150));
      EXPECT_EQ(*hits, 0);
      EXPECT_EQ(forwarder->dispatched(), 0);
      forwarder->set_holding(false);
    }(forwarder_.get(), &seen));
    const auto answer = co_await post("/v1/completions", "{}");
    EXPECT_TRUE(answer.ok() && answer->status == 200);
    co_await releaser.join();
  });
  EXPECT_EQ(seen, 1);
}

TEST_F(ForwarderTest, TooManyWaitingRequestsAreRefusedWithTheLimit) {
  gate_->phase_ = EnginePhase::kStarting;
  policy_.held_max = 0;
  run(echo, [this]() -> net::Task<void> {
    const auto answer = co_await post("/v1/completions", "{}");
    EXPECT_TRUE(answer.ok() && answer->status == 503);
  });
}

}  // namespace
}  // namespace kantha::noded
