#include "noded/prefix_warmup.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>

#include "base/json.h"
#include "base/net/http_server.h"
#include "tests/noded/engine/fake_keeper.h"

namespace kantha::noded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PrefixWarmupTest : public testing::Test {
 protected:
  PrefixWarmupTest() {
    char pattern[] = "/tmp/kantha-warm-XXXXXX";
    folder_ = mkdtemp(pattern);
    net::Endpoint at;
    at.unix_path = folder_ + "/engine";
    keeper_ = std::make_unique<FakeKeeper>(context_.get_executor(), at.unix_path, system_clock(),
                                           client_);
    warmup_ = std::make_unique<PrefixWarmup>(context_.get_executor(), *keeper_, *keeper_, client_,
                                             system_clock(),
                                             WarmupPolicy{.prompts_max = 2, .time_max = time_max_});
    EXPECT_TRUE(server_.listen(at).ok());
  }
  ~PrefixWarmupTest() override { std::filesystem::remove_all(folder_); }

  net::Task<void> answer(net::HttpRequest request, net::ResponseWriter& writer) {
    asked_.push_back(parse_json(request.body)->at("prompt").get<std::string>().substr(0, 1));
    phases_.push_back(warmup_->phase());
    if (is_slow_) co_await net::sleep_for(seconds(5));
    static_cast<void>(co_await writer.send({.status = 200, .body = "{}"}));
  }

  void use(char word, int times) {
    net::HttpRequest request{"POST", "/v1/completions", {}, ""};
    request.body = R"({"prompt":")" + std::string(100, word) + "\"}";
    for (int i = 0; i < times; ++i) warmup_->prompts().note(request, system_clock().now());
  }

  /// The second engine of a pod is ready: how long until the door may use it.
  Duration until_ready(std::int64_t pid = 2) {
    Duration took{};
    net::TaskGroup group(context_.get_executor(), "test");
    bool over = false;
    const auto story = [&]() -> net::Task<void> {
      keeper_->become(EnginePhase::kStarting, 0);
      co_await net::sleep_for(milliseconds(5));
      keeper_->become(EnginePhase::kReady, pid);
      const TimePoint start = system_clock().now();
      const bool is_ready = co_await warmup_->wait_ready(seconds(10));
      EXPECT_TRUE(is_ready);
      took = system_clock().now() - start;
      over = true;
      server_.close();
    };
    group.spawn(warmup_->run([&] { return over; }));
    group.spawn(story());
    context_.run_for(seconds(20));
    return took;
  }

  Duration time_max_ = milliseconds(300);
  boost::asio::io_context context_{1};
  net::HttpClient client_{context_.get_executor()};
  net::HttpServer server_{context_.get_executor(),
                          [this](net::HttpRequest request, net::ResponseWriter& writer) {
                            return answer(std::move(request), writer);
                          }};
  std::string folder_;
  std::unique_ptr<FakeKeeper> keeper_;
  std::unique_ptr<PrefixWarmup> warmup_;
  std::vector<std::string> asked_;
  std::vector<EnginePhase> phases_;
  bool is_slow_ = false;
};

TEST_F(PrefixWarmupTest, TheFirstEngineIsReadyAtOnce) {
  keeper_->become(EnginePhase::kReady, 1);
  EXPECT_EQ(warmup_->phase(), EnginePhase::kReady);
  use('a', 3);
  EXPECT_EQ(warmup_->phase(), EnginePhase::kReady) << "it is not warmed behind its users' backs";
}

TEST_F(PrefixWarmupTest, ANewEngineComputesTheHottestPromptsBeforeItIsReady) {
  keeper_->become(EnginePhase::kReady, 1);
  EXPECT_EQ(warmup_->phase(), EnginePhase::kReady);
  use('a', 2);
  use('b', 4);
  use('c', 3);
  use('d', 1);
  until_ready();
  EXPECT_EQ(asked_, (std::vector<std::string>{"b", "c"})) << "two at most";
  EXPECT_EQ(phases_, std::vector<EnginePhase>(2, EnginePhase::kStarting));
  EXPECT_EQ(warmup_->phase(), EnginePhase::kReady);
}

TEST_F(PrefixWarmupTest, SoDoesOneThatHasThePidOfTheLastInAContainerOfItsOwn) {
  keeper_->become(EnginePhase::kReady, 1);
  EXPECT_EQ(warmup_->phase(), EnginePhase::kReady);
  use('a', 2);
  until_ready(1);
  EXPECT_EQ(asked_, std::vector<std::string>{"a"});
}

TEST_F(PrefixWarmupTest, ASlowEngineIsWaitedForNoLongerThanTheTime) {
  keeper_->become(EnginePhase::kReady, 1);
  EXPECT_EQ(warmup_->phase(), EnginePhase::kReady);
  use('a', 2);
  use('b', 2);
  is_slow_ = true;
  const Duration took = until_ready();
  EXPECT_GE(took, time_max_);
  EXPECT_LT(took, seconds(3));
  EXPECT_EQ(asked_.size(), 1U);
}

TEST_F(PrefixWarmupTest, WhoeverWaitsIsServedFirst) {
  keeper_->become(EnginePhase::kReady, 1);
  EXPECT_EQ(warmup_->phase(), EnginePhase::kReady);
  use('a', 2);
  warmup_->set_hurry([] { return true; });
  until_ready();
  EXPECT_TRUE(asked_.empty());
}

}  // namespace
}  // namespace kantha::noded
