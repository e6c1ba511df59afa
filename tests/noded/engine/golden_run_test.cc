#include "noded/engine/golden_run.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "base/net/http_server.h"
#include "tests/noded/engine/fake_keeper.h"

namespace kantha::noded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class GoldenRunTest : public testing::Test {
 protected:
  GoldenRunTest() {
    char pattern[] = "/tmp/kantha-golden-XXXXXX";
    folder_ = mkdtemp(pattern);
    std::ofstream(folder_ + "/prompts.json")
        << R"({"timeout_seconds": 5, "prompts": [{"prompt": "a", "text": "right"}]})";
    net::Endpoint at;
    at.unix_path = folder_ + "/engine";
    keeper_ = std::make_unique<FakeKeeper>(context_.get_executor(), at.unix_path, system_clock(),
                                           client_);
    golden_ = std::make_unique<GoldenRun>(folder_ + "/prompts.json", "m", *keeper_, client_);
    EXPECT_TRUE(server_.listen(at).ok());
  }
  ~GoldenRunTest() override { std::filesystem::remove_all(folder_); }

  net::Task<void> answer(net::HttpRequest, net::ResponseWriter& writer) {
    ++asked_;
    static_cast<void>(co_await writer.send(
        {.status = 200, .body = R"({"choices":[{"text":")" + says_ + "\"}]}"}));
  }

  /// An engine that says this comes up with this pid, and is asked.
  net::Task<void> engine(std::string says, std::int64_t pid) {
    keeper_->become(EnginePhase::kStarting, 0);
    says_ = std::move(says);
    co_await net::sleep_for(milliseconds(5));
    keeper_->become(EnginePhase::kReady, pid);
    EXPECT_FALSE(golden_->state()->done) << "what was known is of another engine";
    for (int i = 0; i < 100 && !golden_->state()->done; ++i) {
      co_await net::sleep_for(milliseconds(50));
    }
    EXPECT_TRUE(golden_->state()->done);
  }

  void tell(net::Task<void> story) {
    net::TaskGroup group(context_.get_executor(), "test");
    bool over = false;
    const auto whole = [&]() -> net::Task<void> {
      co_await std::move(story);
      over = true;
      server_.close();
    };
    group.spawn(golden_->run([&] { return over; }));
    group.spawn(whole());
    context_.run_for(seconds(20));
    EXPECT_TRUE(over);
  }

  boost::asio::io_context context_{1};
  net::HttpClient client_{context_.get_executor()};
  net::HttpServer server_{context_.get_executor(),
                          [this](net::HttpRequest request, net::ResponseWriter& writer) {
                            return answer(std::move(request), writer);
                          }};
  std::string folder_;
  std::unique_ptr<FakeKeeper> keeper_;
  std::unique_ptr<GoldenRun> golden_;
  std::string says_;
  int asked_ = 0;
};

TEST_F(GoldenRunTest, ANewContainersEngineIsAskedThoughItHasThePidOfTheLast) {
  const auto story = [&]() -> net::Task<void> {
    co_await engine("right", 7);
    EXPECT_EQ(golden_->state()->failed, 0);
    co_await engine("wrong", 7);
    EXPECT_EQ(golden_->state()->failed, 1);
    EXPECT_NE(golden_->state()->message.find("golden prompt 1"), std::string::npos);
  };
  tell(story());
}

TEST_F(GoldenRunTest, AnEngineThatStaysIsAskedOnce) {
  const auto story = [&]() -> net::Task<void> {
    co_await engine("right", 7);
    co_await net::sleep_for(milliseconds(300));
    EXPECT_EQ(asked_, 1);
  };
  tell(story());
}

TEST_F(GoldenRunTest, WhileNoEngineIsReadyNothingIsKnown) {
  EXPECT_FALSE(golden_->state()->done);
  EXPECT_EQ(GoldenRun("", "m", *keeper_, client_).state(), std::nullopt);
}

}  // namespace
}  // namespace kantha::noded
