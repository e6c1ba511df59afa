#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/net/task_group.h"
#include "noded/gateway/forwarder.h"
#include "noded/gateway/front_door.h"

namespace kantha::noded {

/// An engine gate that the test opens and closes.
class FakeGate final : public EngineGate {
 public:
  explicit FakeGate(net::Endpoint engine) : engine_(std::move(engine)) {}
  EnginePhase phase() const override { return phase_; }
  std::string message() const override { return "as the test says"; }
  net::Task<bool> wait_ready(Duration timeout) override {
    co_await net::sleep_for(std::min<Duration>(timeout, std::chrono::milliseconds(5)));
    if (on_wait_) on_wait_();
    co_return phase_ == EnginePhase::kReady;
  }
  void suspect() override { ++suspected_; }
  net::Endpoint endpoint() const override { return engine_; }
  bool was_ready() const override { return was_ready_; }
  /// Whoever is suspected has ended.
  EngineEnds ends() const override { return {.count = suspected_, .last = last_}; }

  EnginePhase phase_ = EnginePhase::kReady;
  std::function<void()> on_wait_;
  int suspected_ = 0;
  bool was_ready_ = true;
  EngineEnds::Last last_ = EngineEnds::Last::kCrashed;

 private:
  net::Endpoint engine_;
};

/// A front door before a scripted engine, all on one io_context.
class DoorFixture : public testing::Test {
 protected:
  DoorFixture() {
    char pattern[] = "/tmp/kantha-door-XXXXXX";
    folder_ = mkdtemp(pattern);
    engine_at_ = net::Endpoint{.unix_path = folder_ + "/engine.sock"};
    gate_ = std::make_unique<FakeGate>(engine_at_);
    client_ = std::make_unique<net::HttpClient>(context_.get_executor());
    policy_.hold_timeout = std::chrono::seconds(2);
  }
  ~DoorFixture() override { std::filesystem::remove_all(folder_); }

  /// Starts door and engine, runs `test` to its end, then closes everything.
  void run(net::HttpHandler engine, std::function<net::Task<void>()> test) {
    forwarder_ = std::make_unique<Forwarder>(context_.get_executor(), *gate_, *client_, policy_,
                                             system_clock());
    door_ = std::make_unique<FrontDoor>(*gate_, *forwarder_, *client_, metrics_);
    engine_ = std::make_unique<net::HttpServer>(context_.get_executor(), std::move(engine));
    ASSERT_TRUE(engine_->listen(engine_at_).ok());
    server_ = std::make_unique<net::HttpServer>(
        context_.get_executor(), [this](net::HttpRequest request, net::ResponseWriter& writer) {
          return answer(std::move(request), writer);
        });
    auto door_at = server_->listen(net::Endpoint{.host = "127.0.0.1", .port = 0});
    ASSERT_TRUE(door_at.ok());
    door_at_ = *door_at;
    net::TaskGroup group(context_.get_executor(), "test");
    group.spawn(finish_after(std::move(test)));
    context_.run_for(std::chrono::seconds(30));
    EXPECT_TRUE(done_) << "the test's own part did not end";
    context_.restart();
    context_.run_for(std::chrono::seconds(2));
    EXPECT_EQ(group.running(), 0U);
  }

  /// Without the door's own pages and guards, so that the outcome is seen.
  net::Task<void> answer(net::HttpRequest request, net::ResponseWriter& writer) {
    if (!notes_outcomes_) {
      co_await door_->answer(std::move(request), writer);
      co_return;
    }
    ForwardOutcome outcome = co_await forwarder_->forward(std::move(request), writer);
    outcomes_.push_back(std::move(outcome));
  }

  net::Task<void> finish_after(std::function<net::Task<void>()> test) {
    co_await test();
    done_ = true;
    server_->close();
    engine_->close();
    client_.reset();
    context_.stop();
  }

  net::Task<Result<net::HttpResponse>> post(std::string target, std::string body) {
    net::HttpRequest request;
    request.method = "POST";
    request.target = std::move(target);
    request.headers.set("Content-Type", "application/json");
    request.body = std::move(body);
    co_return co_await user_.call(door_at_, std::move(request), std::chrono::seconds(10));
  }

  boost::asio::io_context context_{1};
  std::string folder_;
  net::Endpoint engine_at_;
  net::Endpoint door_at_;
  ForwardPolicy policy_;
  MetricRegistry metrics_;
  std::unique_ptr<FakeGate> gate_;
  std::unique_ptr<net::HttpClient> client_;
  net::HttpClient user_{context_.get_executor()};
  std::unique_ptr<Forwarder> forwarder_;
  std::unique_ptr<FrontDoor> door_;
  std::unique_ptr<net::HttpServer> engine_;
  std::unique_ptr<net::HttpServer> server_;
  bool notes_outcomes_ = false;
  std::vector<ForwardOutcome> outcomes_;
  bool done_ = false;
};

}  // namespace kantha::noded
