#include "noded/gateway/front_door.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

#include "base/digest.h"
#include "base/json.h"

namespace kantha::noded {
namespace {

using Answer = Result<net::HttpResponse>;

class OpenGate final : public EngineGate {
 public:
  EnginePhase phase() const override { return phase_; }
  std::string message() const override { return "as the test says"; }
  net::Task<bool> wait_ready(Duration timeout) override {
    co_await net::sleep_for(std::min<Duration>(timeout, std::chrono::milliseconds(5)));
    co_return phase_ == EnginePhase::kReady;
  }
  void suspect() override {}
  net::Endpoint endpoint() const override { return engine_; }
  bool was_ready() const override { return true; }

  EnginePhase phase_ = EnginePhase::kReady;
  net::Endpoint engine_;
};

constexpr const char* kText = R"({"prompt":"a secret prompt","model":"m"})";

/// A door with keys before an engine that answers with what it was sent.
class FrontDoorTest : public testing::Test {
 protected:
  FrontDoorTest() {
    char pattern[] = "/tmp/kantha-front-XXXXXX";
    folder_ = mkdtemp(pattern);
    gate_.engine_ = net::Endpoint{.unix_path = folder_ + "/engine.sock"};
    settings_.pod = "p-0";
    settings_.access_log = folder_ + "/access.log";
    settings_.gate.model = "m";
  }
  ~FrontDoorTest() override { std::filesystem::remove_all(folder_); }

  void write_keys(const std::string& entries) {
    settings_.gate.api_keys_file = folder_ + "/keys.json";
    std::ofstream(folder_ + "/draft") << R"({"keys":[)" << entries << "]}";
    std::filesystem::rename(folder_ + "/draft", settings_.gate.api_keys_file);
  }
  static std::string key_entry(std::string_view key, const std::string& rest) {
    return R"({"sha256":")" + sha256_hex(key) + "\"," + rest + "}";
  }

  void run(std::function<net::Task<void>()> test) {
    forwarder_ = std::make_unique<Forwarder>(context_.get_executor(), gate_, client_,
                                             ForwardPolicy(), system_clock());
    door_ = std::make_unique<FrontDoor>(gate_, *forwarder_, client_, metrics_, settings_, clock_);
    const Status opened = door_->open();
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    engine_ = std::make_unique<net::HttpServer>(
        context_.get_executor(), [this](net::HttpRequest request, net::ResponseWriter& writer) {
          return engine_answers(std::move(request), writer);
        });
    ASSERT_TRUE(engine_->listen(gate_.engine_).ok());
    server_ = std::make_unique<net::HttpServer>(
        context_.get_executor(), [this](net::HttpRequest request, net::ResponseWriter& writer) {
          return door_->answer(std::move(request), writer);
        });
    auto at = server_->listen(net::Endpoint{.host = "127.0.0.1", .port = 0});
    ASSERT_TRUE(at.ok());
    door_at_ = *at;
    net::TaskGroup group(context_.get_executor(), "test");
    group.spawn(finish_after(std::move(test)));
    context_.run_for(std::chrono::seconds(30));
    EXPECT_TRUE(done_) << "the test's own part did not end";
    context_.restart();
    context_.run_for(std::chrono::seconds(2));
  }

  net::Task<void> finish_after(std::function<net::Task<void>()> test) {
    co_await test();
    done_ = true;
    server_->close();
    engine_->close();
    context_.stop();
  }

  net::Task<void> engine_answers(net::HttpRequest request, net::ResponseWriter& writer) {
    seen_.push_back(request);
    net::HttpResponse response;
    response.headers.set("Content-Type", "application/json");
    response.headers.set("x-request-id", "of the engine");
    response.body = engine_says_;
    EXPECT_TRUE((co_await writer.send(std::move(response))).ok());
  }

  net::Task<Answer> ask(std::string method, std::string target, net::Headers headers = {},
                        std::string body = "") {
    net::HttpRequest request{std::move(method), std::move(target), std::move(headers),
                             std::move(body)};
    if (!request.body.empty()) request.headers.set("Content-Type", "application/json");
    co_return co_await user_.call(door_at_, std::move(request), std::chrono::seconds(10));
  }
  net::Task<Answer> complete(std::string key, std::string body = kText) {
    net::Headers headers;
    if (!key.empty()) headers.set("Authorization", "Bearer " + key);
    co_return co_await ask("POST", "/v1/completions", std::move(headers), std::move(body));
  }

  static void expect_error(const Answer& answer, int status, const char* type, const char* code) {
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->status, status) << answer->body;
    const Result<Json> body = parse_json(answer->body);
    ASSERT_TRUE(body.ok());
    EXPECT_EQ((*body)["error"]["type"], type) << answer->body;
    EXPECT_EQ((*body)["error"]["code"], code) << answer->body;
  }
  std::vector<Json> log_lines() const {
    std::ifstream file(settings_.access_log);
    std::vector<Json> out;
    for (std::string line; std::getline(file, line);) out.push_back(*parse_json(line));
    return out;
  }

  boost::asio::io_context context_{1};
  FakeClock clock_;
  std::string folder_;
  net::Endpoint door_at_;
  DoorSettings settings_;
  MetricRegistry metrics_;
  std::vector<net::HttpRequest> seen_;
  std::string engine_says_ = R"({"usage":{"prompt_tokens":7,"completion_tokens":3}})";
  net::HttpClient client_{context_.get_executor()};
  net::HttpClient user_{context_.get_executor()};
  OpenGate gate_;
  std::unique_ptr<Forwarder> forwarder_;
  std::unique_ptr<FrontDoor> door_;
  std::unique_ptr<net::HttpServer> engine_;
  std::unique_ptr<net::HttpServer> server_;
  bool done_ = false;
};

TEST_F(FrontDoorTest, WithoutKeysEverybodyComesInAndTheBodyIsUntouched) {
  run([this]() -> net::Task<void> {
    const auto answer = co_await complete("any-key-at-all");
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(seen_.size(), 1U);
    EXPECT_EQ(seen_[0].body, kText);
    EXPECT_FALSE(seen_[0].headers.find("Authorization").has_value())
        << "a client's key goes no further than the door";
    EXPECT_EQ((co_await ask("GET", "/metrics"))->status, 200);
    EXPECT_EQ((co_await ask("GET", "/nothing"))->status, 404);
  });
}

TEST_F(FrontDoorTest, OnlyAListedKeyComesIn) {
  write_keys(key_entry("good", R"("tenant":"blue")"));
  run([this]() -> net::Task<void> {
    auto none = co_await complete("");
    expect_error(none, 401, "authentication_error", "invalid_api_key");
    EXPECT_EQ(none->headers.find("WWW-Authenticate"), "Bearer");
    expect_error(co_await complete("bad"), 401, "authentication_error", "invalid_api_key");
    EXPECT_EQ(seen_.size(), 0U);
    EXPECT_EQ((co_await complete("good"))->status, 200);
    for (const char* name : {"api-key", "x-api-key"}) {
      net::Headers headers;
      headers.set(name, "good");
      EXPECT_EQ((co_await ask("POST", "/v1/completions", headers, kText))->status, 200) << name;
      EXPECT_FALSE(seen_.back().headers.find(name).has_value());
    }
    EXPECT_EQ(seen_.back().body,
              R"({"prompt":"a secret prompt","model":"m","kantha":{"tenant":"blue"}})");
  });
}

TEST_F(FrontDoorTest, NoSpellingOfAnyRouteOpensADoorWithoutAKey) {
  write_keys(key_entry("good", R"("tenant":"blue")"));
  run([this]() -> net::Task<void> {
    for (const char* path : {"/live", "/health", "/ready", "/startup", "/version"}) {
      EXPECT_EQ((co_await ask("GET", path))->status, 200) << path;
      EXPECT_EQ((co_await ask("HEAD", path))->status, 200) << path;
      EXPECT_EQ((co_await ask("POST", path, {}, "{}"))->status, 405) << path;
      EXPECT_EQ((co_await ask("OPTIONS", path))->status, 405) << path;
    }
    for (const char* target : {"/metrics",
                               "/v1/models",
                               "/v1/models/m",
                               "//v1/models",
                               "/v1//models",
                               "/v1/models/",
                               "/v1/../metrics",
                               "/v1/../live",
                               "/live/../metrics",
                               "/live/../v1/models",
                               "/./live",
                               "//live",
                               "/live/",
                               "/%6cive",
                               "/%2e%2e/live",
                               "/live%2f..%2fmetrics",
                               "/live%00",
                               "/LIVE",
                               "/live;x",
                               "/admin/v1/state",
                               "/live/../admin/v1/drain",
                               "http://x/metrics",
                               "http://x/v1/models",
                               "http://x?/live",
                               "http://x/live/../metrics",
                               "*",
                               "/",
                               "/nothing"}) {
      for (const char* method : {"GET", "HEAD", "OPTIONS", "POST", "DELETE", "TRACE", "live"}) {
        const auto answer = co_await ask(method, target);
        EXPECT_EQ(answer->status, 401) << method << ' ' << target;
      }
    }
    EXPECT_EQ(seen_.size(), 0U) << "nothing of it reached the engine";
    // With the key, what is spelled otherwise is still no route.
    const net::Headers key = {{"x-api-key", "good"}};
    for (const char* target : {"//v1/models", "/v1/../metrics", "/%76%31/models", "/live/", "*"}) {
      EXPECT_EQ((co_await ask("GET", target, key))->status, 404) << target;
    }
    EXPECT_EQ((co_await ask("DELETE", "/v1/models", key))->status, 405);
    const auto wrong = co_await ask("GET", "/v1/completions", key);
    EXPECT_EQ(wrong->status, 405);
    EXPECT_EQ(wrong->headers.find("Allow"), "POST");
    EXPECT_EQ(seen_.size(), 0U);
    EXPECT_EQ((co_await ask("GET", "http://x:1/v1/models?a=b", key))->status, 200);
    EXPECT_EQ(seen_.back().target, "/v1/models?a=b") << "the engine sees the path that was judged";
    EXPECT_EQ((co_await ask("GET", "/metrics", key))->status, 200);
  });
}

TEST_F(FrontDoorTest, AModelThatTheKeyMayNotUseIsForbidden) {
  write_keys(key_entry("other", R"("tenant":"red","models":["other"])") + "," +
             key_entry("both", R"("tenant":"blue","models":["other","m"])"));
  run([this]() -> net::Task<void> {
    expect_error(co_await complete("other"), 403, "permission_error", "model_not_allowed");
    // Without a name it is the served model that is meant.
    expect_error(co_await complete("other", R"({"prompt":"a"})"), 403, "permission_error",
                 "model_not_allowed");
    EXPECT_EQ(seen_.size(), 0U);
    EXPECT_EQ((co_await complete("both"))->status, 200);
    EXPECT_EQ((co_await complete("both", R"({"prompt":"a"})"))->status, 200);
    const net::Headers key = {{"x-api-key", "other"}};
    EXPECT_EQ((co_await ask("POST", "/tokenize", key, R"({"model":"m","prompt":"a"})"))->status,
              403);
    EXPECT_EQ((co_await ask("POST", "/tokenize", key, R"({"model":"other"})"))->status, 200);
  });
}

TEST_F(FrontDoorTest, ABodyThatTheDoorCannotReadGoesNoFurther) {
  write_keys(key_entry("good", R"("tenant":"blue")"));
  run([this]() -> net::Task<void> {
    for (const char* body : {"[]", "x", R"({"kantha":{"tenant":"red"},"kantha":{}})"}) {
      const auto answer = co_await complete("good", body);
      EXPECT_EQ(answer->status, 400) << body;
    }
    EXPECT_EQ(seen_.size(), 0U);
  });
}

TEST_F(FrontDoorTest, RequestsBeyondTheRateWait) {
  write_keys(key_entry("good", R"("tenant":"blue","requestsPerMinute":2)") + "," +
             key_entry("free", R"("tenant":"red")"));
  run([this]() -> net::Task<void> {
    const auto first = co_await complete("good");
    EXPECT_EQ(first->status, 200);
    EXPECT_EQ(first->headers.find("x-ratelimit-limit-requests"), "2");
    EXPECT_EQ(first->headers.find("x-ratelimit-remaining-requests"), "1");
    EXPECT_EQ((co_await complete("good"))->status, 200);
    const auto third = co_await complete("good");
    expect_error(third, 429, "requests", "rate_limit_exceeded");
    EXPECT_EQ(third->headers.find("Retry-After"), "30");
    EXPECT_EQ(third->headers.find("x-ratelimit-remaining-requests"), "0");
    EXPECT_EQ(third->headers.find("x-ratelimit-reset-requests"), "1m0s");
    EXPECT_EQ((co_await complete("free"))->status, 200);
    EXPECT_FALSE((co_await complete("free"))->headers.find("x-ratelimit-limit-requests"));
    // Listing models is free.
    const net::Headers key = {{"x-api-key", "good"}};
    EXPECT_EQ((co_await ask("GET", "/v1/models", key))->status, 200);
    clock_.advance(std::chrono::seconds(30));
    EXPECT_EQ((co_await complete("good"))->status, 200);
  });
}

TEST_F(FrontDoorTest, TokensAreChargedAsTheEngineCountedThem) {
  write_keys(key_entry("good", R"("tenant":"blue","tokensPerMinute":25)"));
  run([this]() -> net::Task<void> {
    EXPECT_EQ((co_await complete("good"))->status, 200);  // 10 of 25
    EXPECT_EQ((co_await complete("good"))->status, 200);  // 20
    EXPECT_EQ((co_await complete("good"))->status, 200);  // 30: a debt of 5
    const auto fourth = co_await complete("good");
    expect_error(fourth, 429, "tokens", "rate_limit_exceeded");
    EXPECT_EQ(fourth->headers.find("Retry-After"), "15");  // 6 tokens at 25 a minute
    clock_.advance(std::chrono::seconds(15));
    EXPECT_EQ((co_await complete("good"))->status, 200);
    const std::string page = metrics_.scrape();
    EXPECT_NE(page.find(R"(kantha_noded_tokens_total{kind="prompt",pod="p-0",tenant="blue"} 28)"),
              std::string::npos)
        << page;
  });
}

TEST_F(FrontDoorTest, ThePodsOwnRateHoldsWithoutKeysToo) {
  settings_.gate.pod_limits.requests_per_minute = 1;
  run([this]() -> net::Task<void> {
    EXPECT_EQ((co_await complete(""))->status, 200);
    expect_error(co_await complete(""), 429, "requests", "rate_limit_exceeded");
  });
}

TEST_F(FrontDoorTest, WhatWaitsForAnEngineIsBoundInTokens) {
  settings_.gate.held_tokens_max = 100;
  run([this]() -> net::Task<void> {
    gate_.phase_ = EnginePhase::kStarting;
    const std::string large = R"({"prompt":")" + std::string(360, 'a') + "\"}";
    net::TaskGroup waiting(context_.get_executor(), "waiting");
    int answered = 0;
    const auto one = [&]() -> net::Task<void> {
      EXPECT_EQ((co_await complete("", large))->status, 200);
      ++answered;
    };
    waiting.spawn(one());
    while (forwarder_->counts().held < 1) co_await net::sleep_for(std::chrono::milliseconds(1));
    const auto second = co_await complete("", large);
    expect_error(second, 429, "server_error", "queue_full");
    EXPECT_EQ(second->headers.find("Retry-After"), "1");
    gate_.phase_ = EnginePhase::kReady;
    while (answered < 1) co_await net::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ((co_await complete("", large))->status, 200);
  });
}

TEST_F(FrontDoorTest, ARevokedKeyIsOutAtOnceAndAWrongFileChangesNothing) {
  write_keys(key_entry("old", R"("tenant":"blue")"));
  run([this]() -> net::Task<void> {
    EXPECT_EQ((co_await complete("old"))->status, 200);
    write_keys(key_entry("new", R"("tenant":"blue")"));
    EXPECT_EQ((co_await complete("old"))->status, 401);
    EXPECT_EQ((co_await complete("new"))->status, 200);
    write_keys("{}");
    EXPECT_EQ((co_await complete("new"))->status, 200);
    EXPECT_NE(metrics_.scrape().find("kantha_noded_api_keys_stale{pod=\"p-0\"} 1"),
              std::string::npos);
    EXPECT_NE(door_->gatekeeper().key_file().error().find("keys[0]"), std::string::npos);
    write_keys("");
    EXPECT_EQ((co_await complete("new"))->status, 401) << "an empty list lets nobody in";
  });
}

TEST_F(FrontDoorTest, IdsAndTracesAreGivenBackAndPassedOn) {
  run([this]() -> net::Task<void> {
    const net::Headers named = {
        {"x-request-id", "mine-1"},
        {"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}};
    const auto answer = co_await ask("GET", "/v1/models", named);
    EXPECT_EQ(answer->headers.find("x-request-id"), "mine-1");
    EXPECT_EQ(seen_.back().headers.find("x-request-id"), "mine-1");
    const std::string passed(*seen_.back().headers.find("traceparent"));
    EXPECT_TRUE(passed.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-")) << passed;
    EXPECT_EQ(passed.find("00f067aa0ba902b7"), std::string::npos);
    const auto unnamed = co_await ask("GET", "/nothing");
    EXPECT_TRUE(unnamed->headers.find("x-request-id")->starts_with("req-"));
  });
}

TEST_F(FrontDoorTest, TheAccessLogHasEveryRequestAndNoPromptAndNoKey) {
  write_keys(key_entry("good", R"("tenant":"blue")"));
  run([this]() -> net::Task<void> {
    EXPECT_EQ((co_await ask("GET", "/ready"))->status, 200);
    EXPECT_EQ((co_await complete("good"))->status, 200);
    EXPECT_EQ((co_await complete("a-secret-key"))->status, 401);
    EXPECT_EQ((co_await ask("GET", "/secret/path"))->status, 401);
  });
  const auto lines = log_lines();
  ASSERT_EQ(lines.size(), 3U) << "probes are left out";
  EXPECT_EQ(lines[0]["tenant"], "blue");
  EXPECT_EQ(lines[0]["model"], "m");
  EXPECT_EQ(lines[0]["status"], 200);
  EXPECT_EQ(lines[0]["prompt_tokens"], 7);
  EXPECT_EQ(lines[0]["completion_tokens"], 3);
  EXPECT_EQ(lines[0]["route"], "/v1/completions");
  EXPECT_EQ(lines[1]["status"], 401);
  EXPECT_EQ(lines[1]["refusal"], "unknown_key");
  EXPECT_FALSE(lines[1].contains("tenant"));
  EXPECT_EQ(lines[2]["refusal"], "no_key");
  std::ifstream file(settings_.access_log);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(text.find("secret"), std::string::npos) << text;
  EXPECT_EQ(text.find(sha256_hex("good")), std::string::npos);
}

TEST_F(FrontDoorTest, AnotherPodsDoorIsNotAskedAgain) {
  write_keys(key_entry("good", R"("tenant":"blue","requestsPerMinute":1)"));
  run([this]() -> net::Task<void> {
    door_->set_peer_test([](const net::HttpRequest& request) {
      return request.headers.find("x-test-peer") == "yes";
    });
    const net::Headers peer = {{"x-test-peer", "yes"}};
    const std::string stamped = R"({"prompt":"a","kantha":{"tenant":"red"}})";
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ((co_await ask("POST", "/v1/completions", peer, stamped))->status, 200);
      EXPECT_EQ(seen_.back().body, stamped) << "with the tenant that the other door put in";
    }
    EXPECT_EQ((co_await ask("GET", "/admin/v1/state", peer))->status, 404);
    EXPECT_EQ((co_await ask("POST", "/v1/completions", {{"x-test-peer", "no"}}, stamped))->status,
              401);
  });
}

TEST_F(FrontDoorTest, SeriesOfTenantsAreBound) {
  std::string entries;
  for (int i = 0; i < 60; ++i) {
    const std::string n = std::to_string(i);
    entries += (i > 0 ? "," : "") + key_entry("k" + n, R"("tenant":"t)" + n + "\"");
  }
  write_keys(entries);
  run([this]() -> net::Task<void> {
    for (int i = 0; i < 60; ++i) {
      EXPECT_EQ((co_await complete("k" + std::to_string(i)))->status, 200);
    }
  });
  const std::string page = metrics_.scrape();
  EXPECT_NE(page.find(R"(kantha_noded_answers_total{code="200",pod="p-0",tenant="t0"} 1)"),
            std::string::npos);
  EXPECT_NE(page.find(R"(kantha_noded_answers_total{code="200",pod="p-0",tenant="other"} 10)"),
            std::string::npos)
      << page;
}

}  // namespace
}  // namespace kantha::noded
