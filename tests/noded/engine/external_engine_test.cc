#include "noded/engine/external_engine.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>

#include "base/json.h"
#include "base/net/http_server.h"

namespace kantha::noded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// The daemon's view of an engine that the test plays on a real socket.
class ExternalEngineTest : public testing::Test {
 protected:
  ExternalEngineTest() {
    char pattern[] = "/tmp/kantha-ext-XXXXXX";
    folder_ = mkdtemp(pattern);
    policy_.take_up_timeout = milliseconds(300);
  }
  ~ExternalEngineTest() override { std::filesystem::remove_all(folder_); }

  /// A process with so many restarts; its socket answers until end_engine().
  void begin_engine(std::int64_t restarts, std::string hash) {
    restarts_ = restarts;
    hash_ = std::move(hash);
    ready_ = true;
    server_ = std::make_unique<net::HttpServer>(
        context_.get_executor(), [this](net::HttpRequest request, net::ResponseWriter& writer) {
          return answer(std::move(request), writer);
        });
    ASSERT_TRUE(server_->listen(net::Endpoint{.unix_path = folder_ + "/e.sock"}).ok());
  }
  void end_engine() {
    server_->close();
    server_.reset();
  }

  net::Task<void> answer(net::HttpRequest request, net::ResponseWriter& writer) {
    net::HttpResponse response;
    if (request.path() == "/ready") {
      response.status = ready_ ? 200 : 503;
    } else if (request.path() == "/admin/v1/state") {
      ++states_asked_;
      if (hangs_) co_await net::sleep_for(seconds(1));
      response.body = dump_json(Json{{"pid", 7},
                                     {"engine_restarts", restarts_},
                                     {"config_hash", hash_},
                                     {"last_end", last_end_},
                                     {"generation_tokens_total", tokens_},
                                     {"kv", Json{{"blocks_total", 10}, {"pressure", pressure_}}}});
    } else if (request.path() == "/admin/v1/shutdown") {
      ++asked_to_end_;
      ready_ = false;
    }
    const Status sent = co_await writer.send(std::move(response));
    static_cast<void>(sent);
  }

  void run(std::function<net::Task<void>()> test) {
    keeper_ = std::make_unique<ExternalEngine>(context_.get_executor(), folder_ + "/e.sock",
                                               policy_, system_clock(), client_);
    context_.restart();
    net::TaskGroup group(context_.get_executor(), "external engine test");
    group.spawn(keeper_->run());
    group.spawn(then_stop(std::move(test)));
    context_.run_for(seconds(30));
    ASSERT_EQ(group.running(), 0U) << keeper_->message();
    EXPECT_EQ(keeper_->phase(), EnginePhase::kStopped);
  }
  net::Task<void> then_stop(std::function<net::Task<void>()> test) {
    co_await test();
    keeper_->stop();
    if (server_) server_->close();
  }
  Duration age() const { return system_clock().now() - *keeper_->reports().taken(); }
  net::Task<bool> until(std::function<bool()> condition) {
    for (int i = 0; i < 2'000 && !condition(); ++i) co_await net::sleep_for(milliseconds(5));
    co_return condition();
  }

  boost::asio::io_context context_{1};
  net::HttpClient client_{context_.get_executor()};
  WatchPolicy policy_;
  std::string folder_;
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<ExternalEngine> keeper_;
  std::int64_t restarts_ = 0;
  std::string last_end_ = "none";
  std::string hash_;
  bool ready_ = true;
  bool hangs_ = false;
  double pressure_ = 0;
  std::int64_t tokens_ = 0;
  int states_asked_ = 0;
  int asked_to_end_ = 0;
};

TEST_F(ExternalEngineTest, FindsAnEngineThatComesLaterAndOneThatIsThereAlready) {
  run([this]() -> net::Task<void> {
    EXPECT_FALSE(co_await keeper_->wait_ready(milliseconds(200)));
    EXPECT_FALSE(keeper_->was_ready());
    begin_engine(2, "hash");
    EXPECT_TRUE(co_await keeper_->wait_ready(seconds(5)));
    EXPECT_TRUE(keeper_->was_ready());
    EXPECT_TRUE(co_await until([this] { return keeper_->config_hash() == "hash"; }));
    EXPECT_EQ(keeper_->pid(), 7);
    EXPECT_EQ(keeper_->restarts(), 2);
    EXPECT_EQ(keeper_->reports().last().blocks_total, 10);
  });
  run([this]() -> net::Task<void> {
    begin_engine(2, "hash");
    EXPECT_TRUE(co_await keeper_->wait_ready(seconds(5)));
  });
}

TEST_F(ExternalEngineTest, SeesAnEngineGoAndTheNextOneCome) {
  begin_engine(0, "hash");
  run([this]() -> net::Task<void> {
    EXPECT_TRUE(co_await keeper_->wait_ready(seconds(5)));
    EXPECT_TRUE(co_await until([this] { return keeper_->pid() == 7; }));
    end_engine();
    keeper_->suspect();
    EXPECT_TRUE(co_await until([this] { return keeper_->phase() == EnginePhase::kBackoff; }));
    last_end_ = "crashed";
    begin_engine(1, "hash");
    EXPECT_TRUE(co_await keeper_->wait_ready(seconds(5)));
    EXPECT_TRUE(co_await until([this] { return keeper_->restarts() == 1; }));
    EXPECT_EQ(keeper_->ends().count, 1);
    EXPECT_EQ(keeper_->ends().last, EngineEnds::Last::kCrashed);
    EXPECT_TRUE(keeper_->was_ready());
  });
}

TEST_F(ExternalEngineTest, ARestartIsAskedForAndIsOverWithTheNextProcess) {
  begin_engine(0, "hash");
  run([this]() -> net::Task<void> {
    EXPECT_TRUE(co_await keeper_->wait_ready(seconds(5)));
    EXPECT_TRUE(co_await until([this] { return keeper_->pid() == 7; }));
    keeper_->request_restart();
    EXPECT_FALSE(keeper_->ready()) << "from now on";
    EXPECT_TRUE(co_await until([this] { return asked_to_end_ == 1; }));
    end_engine();
    begin_engine(1, "hash");
    EXPECT_TRUE(co_await keeper_->wait_ready(seconds(5)));
    EXPECT_EQ(keeper_->restarts(), 1);
  });
}

TEST_F(ExternalEngineTest, ANewConfigurationIsWaitedFor) {
  begin_engine(0, "old");
  run([this]() -> net::Task<void> {
    EXPECT_TRUE(co_await keeper_->wait_ready(seconds(5)));
    keeper_->take_up_config("new");
    EXPECT_FALSE(keeper_->ready());
    end_engine();
    begin_engine(1, "new");
    EXPECT_TRUE(co_await keeper_->wait_ready(seconds(5)));
    EXPECT_EQ(keeper_->config_hash(), "new");
    // Nobody takes this one up: the engine is used as it is.
    keeper_->take_up_config("newer");
    EXPECT_FALSE(keeper_->ready());
    EXPECT_TRUE(co_await keeper_->wait_ready(seconds(5)));
    EXPECT_NE(keeper_->message().find("has not taken up"), std::string::npos);
  });
}

TEST_F(ExternalEngineTest, WhoReadsTheReportsNowGetsTheNumbersOfNow) {
  begin_engine(0, "hash");
  run([this]() -> net::Task<void> {
    EXPECT_TRUE(co_await keeper_->wait_ready(seconds(5)));
    EXPECT_TRUE(co_await until([this] { return keeper_->reports().taken().has_value(); }));
    pressure_ = 2.5;
    EXPECT_TRUE(co_await until([this] { return age() >= milliseconds(100); }));
    const TimePoint before = system_clock().now();
    co_await keeper_->freshen_reports();
    EXPECT_EQ(keeper_->reports().last().kv_pressure, 2.5);
    EXPECT_GE(*keeper_->reports().taken(), before) << "its age is that of the question";
    const int asked = states_asked_;
    co_await keeper_->freshen_reports();
    EXPECT_LE(states_asked_, asked + 1) << "many readers are one question";
  });
}

TEST_F(ExternalEngineTest, AnEngineThatIsSlowToSayLeavesTheNumbersWithTheirAge) {
  begin_engine(0, "hash");
  run([this]() -> net::Task<void> {
    EXPECT_TRUE(co_await keeper_->wait_ready(seconds(5)));
    EXPECT_TRUE(co_await until([this] { return keeper_->reports().taken().has_value(); }));
    hangs_ = true;
    EXPECT_TRUE(co_await until([this] { return age() >= milliseconds(100); }));
    const TimePoint before = system_clock().now();
    co_await keeper_->freshen_reports();
    EXPECT_LT(system_clock().now() - before, milliseconds(900)) << "nobody waits for it";
    EXPECT_LT(*keeper_->reports().taken(), before);
    hangs_ = false;
  });
}

TEST(ReportBook, QuestionsInBetweenNeitherDelayTheWatchNorBlurTheRate) {
  const TimePoint start{seconds(100)};
  const auto report = [](std::int64_t restarts, std::int64_t tokens, double pressure) {
    EngineReport out;
    out.pid = 7;
    out.restarts = restarts;
    out.generation_tokens_total = tokens;
    out.kv_pressure = pressure;
    return out;
  };
  ReportBook book;
  book.freshen(report(0, 5, 0.5), start);
  EXPECT_FALSE(book.taken()) << "the watch has seen nobody yet";
  book.note(report(0, 100, 0.5), start);
  book.freshen(report(0, 190, 0.9), start + milliseconds(900));
  EXPECT_EQ(book.last().kv_pressure, 0.9);
  EXPECT_EQ(book.taken(), start + milliseconds(900));
  EXPECT_TRUE(book.due(start + seconds(1))) << "as without that question";
  book.note(report(0, 200, 1.1), start + seconds(1));
  EXPECT_EQ(book.tokens_per_second(), 100);
  book.freshen(report(1, 0, 0), start + milliseconds(1500));
  EXPECT_EQ(book.last().kv_pressure, 1.1) << "another process's are not this one's";
  book.freshen(report(0, 200, 0.2), start + milliseconds(950));
  EXPECT_EQ(book.last().kv_pressure, 1.1) << "an answer that was overtaken";
}

}  // namespace
}  // namespace kantha::noded
