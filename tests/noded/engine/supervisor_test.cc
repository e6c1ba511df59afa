#include "noded/engine/supervisor.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

namespace kantha::noded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A supervisor over real processes of the fake engine.
class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() {
    char pattern[] = "/tmp/kantha-sup-XXXXXX";
    folder_ = mkdtemp(pattern);
    policy_.backoff_first = milliseconds(20);
    policy_.stop_timeout = milliseconds(500);
  }
  ~SupervisorTest() override { std::filesystem::remove_all(folder_); }

  void configure(const std::string& json) { std::ofstream(folder_ + "/engine.json") << json; }

  /// Runs the supervisor beside `test`, then stops it and waits for both.
  void run(std::function<net::Task<void>()> test, std::string binary = "") {
    if (binary.empty()) binary = std::string(std::getenv("KANTHA_BIN_DIR")) + "/kantha-fake-engine";
    supervisor_ = std::make_unique<Supervisor>(
        context_.get_executor(),
        EngineLaunch{binary, folder_ + "/engine.json", folder_ + "/e.sock", folder_ + "/e.log"},
        policy_, system_clock(), client_);
    net::TaskGroup group(context_.get_executor(), "supervisor test");
    group.spawn(supervisor_->run());
    group.spawn(then_stop(std::move(test)));
    context_.run_for(seconds(60));
    ASSERT_EQ(group.running(), 0U) << supervisor_->message();
    EXPECT_EQ(supervisor_->phase(), EnginePhase::kStopped);
    EXPECT_EQ(supervisor_->pid(), 0);
  }

  net::Task<void> then_stop(std::function<net::Task<void>()> test) {
    co_await test();
    supervisor_->stop();
  }

  net::Task<bool> until(std::function<bool()> condition) {
    for (int i = 0; i < 2'000 && !condition(); ++i) co_await net::sleep_for(milliseconds(5));
    co_return condition();
  }

  boost::asio::io_context context_{1};
  net::HttpClient client_{context_.get_executor()};
  SupervisePolicy policy_;
  std::string folder_;
  std::unique_ptr<Supervisor> supervisor_;
};

TEST_F(SupervisorTest, StartsTheEngineWaitsForItAndStopsIt) {
  configure("{}");
  run([this]() -> net::Task<void> {
    EXPECT_TRUE(co_await supervisor_->wait_ready(seconds(20)));
    EXPECT_GT(supervisor_->pid(), 0);
    EXPECT_EQ(supervisor_->config_hash().size(), 64U);
    EXPECT_TRUE(
        co_await until([this] { return supervisor_->reports().last().blocks_total == 10; }));
    EXPECT_EQ(supervisor_->reports().last().version, "fake");
  });
}

TEST_F(SupervisorTest, AKilledEngineIsReplacedByANewProcess) {
  configure("{}");
  run([this]() -> net::Task<void> {
    EXPECT_TRUE(co_await supervisor_->wait_ready(seconds(20)));
    const auto first = static_cast<pid_t>(supervisor_->pid());
    ::kill(first, SIGKILL);
    EXPECT_TRUE(co_await until([this] { return !supervisor_->ready(); }));
    EXPECT_TRUE(co_await supervisor_->wait_ready(seconds(20)));
    EXPECT_NE(supervisor_->pid(), first);
    EXPECT_EQ(supervisor_->state().restarts, 1);
    EXPECT_EQ(supervisor_->ends().count, 1);
    EXPECT_EQ(supervisor_->ends().last, EngineEnds::Last::kWasEnded);
  });
}

TEST_F(SupervisorTest, AnEngineThatKeepsEndingOpensTheBreakerAndNobodyWaitsForIt) {
  configure(R"({"fake":{"exit_code":7,"exit_after_ms":1}})");
  run([this]() -> net::Task<void> {
    EXPECT_FALSE(co_await supervisor_->wait_ready(seconds(20)));
    EXPECT_EQ(supervisor_->phase(), EnginePhase::kCrashLoop);
    EXPECT_NE(supervisor_->message().find("exit 7"), std::string::npos) << supervisor_->message();
    EXPECT_EQ(supervisor_->state().starts, 3);
    EXPECT_EQ(supervisor_->ends().count, 3);
    EXPECT_EQ(supervisor_->ends().last, EngineEnds::Last::kCrashed);
  });
}

TEST_F(SupervisorTest, ARestartRunsTheNewConfiguration) {
  configure("{}");
  run([this]() -> net::Task<void> {
    EXPECT_TRUE(co_await supervisor_->wait_ready(seconds(20)));
    const std::string before = supervisor_->config_hash();
    configure(R"({"fake":{}})");
    supervisor_->request_restart();
    EXPECT_TRUE(co_await until([this] { return !supervisor_->ready(); }));
    EXPECT_TRUE(co_await supervisor_->wait_ready(seconds(20)));
    EXPECT_NE(supervisor_->config_hash(), before);
    EXPECT_TRUE(supervisor_->state().recent_ends.empty());
  });
}

TEST_F(SupervisorTest, AnEngineThatIgnoresTermIsKilledAtTheDeadline) {
  configure(R"({"fake":{"ignore_term":true}})");
  run([this]() -> net::Task<void> { EXPECT_TRUE(co_await supervisor_->wait_ready(seconds(20))); });
}

TEST_F(SupervisorTest, AnEngineThatIsNotReadyIsNotUsed) {
  configure(R"({"fake":{"ready":false}})");
  run([this]() -> net::Task<void> {
    EXPECT_FALSE(co_await supervisor_->wait_ready(milliseconds(400)));
    EXPECT_EQ(supervisor_->phase(), EnginePhase::kStarting);
  });
}

TEST_F(SupervisorTest, AMissingBinaryIsNamed) {
  configure("{}");
  run(
      [this]() -> net::Task<void> {
        EXPECT_FALSE(co_await supervisor_->wait_ready(seconds(5)));
        EXPECT_NE(supervisor_->message().find("/no/such/engine"), std::string::npos)
            << supervisor_->message();
      },
      "/no/such/engine");
}

TEST(EngineReport, ReadsWhatItKnowsAndRefusesWrongTypes) {
  const auto good = parse_json(
      R"({"version":"1","tokenizer_hash":"ab","kv":{"blocks_total":4,"pressure":0.5},"x":[]})");
  const auto report = engine_report_from_json(*good);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->blocks_total, 4);
  EXPECT_EQ(report->tokenizer_hash, "ab");
  EXPECT_EQ(report->kv_pressure, 0.5);
  for (const char* bad :
       {"[]", R"({"kv":3})", R"({"kv":{"blocks_total":-1}})", R"({"version":1})"}) {
    const auto json = parse_json(bad);
    EXPECT_FALSE(engine_report_from_json(*json).ok()) << bad;
  }
}

}  // namespace
}  // namespace kantha::noded
