#include "operator/runtime/controller.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/net/virtual_time.h"

namespace kantha::runtime {
namespace {

using namespace std::chrono_literals;
using kube::ObjectKey;

ObjectKey key(const std::string& name) { return {"default", name}; }

Error error_of(Code code, std::string message, std::string reason = {}) {
  Error error = {code, std::move(message)};
  error.reason = std::move(reason);
  return error;
}

/// A controller in virtual time whose reconciles take a while and end as a test says.
class ControllerTest : public ::testing::Test {
 protected:
  using Answer = std::function<Result<Requeue>(const ObjectKey&)>;

  void start(ControllerOptions options = {}) {
    options.name = "test";
    controller_ = std::make_unique<Controller>(
        context_.get_executor(), clock_, metrics_, std::move(options),
        [this](ObjectKey wanted) { return reconcile(std::move(wanted)); },
        [this] { return is_open_; });
    tasks_.spawn(controller_->run());
    time_.run_ready();
  }
  void TearDown() override {
    if (!controller_) return;
    controller_->stop();
    time_.run_for(1h);
    EXPECT_EQ(tasks_.running(), 0u);
    controller_.reset();
  }

  net::Task<Result<Requeue>> reconcile(ObjectKey wanted) {
    const TimePoint begun = clock_.now();
    EXPECT_TRUE(held_.insert(wanted).second) << "two workers on " << wanted.name;
    most_held_ = std::max(most_held_, held_.size());
    runs_[wanted.name].push_back(begun.time_since_epoch());
    const Duration takes = takes_;
    co_await net::sleep_for(takes);
    held_.erase(wanted);
    co_return answer_(wanted);
  }

  std::size_t count(const std::string& name) const {
    const auto found = runs_.find(name);
    return found == runs_.end() ? 0 : found->second.size();
  }
  bool shows(const std::string& series) const {
    return metrics_.scrape().find(series + "\n") != std::string::npos;
  }

  boost::asio::io_context context_;
  FakeClock clock_;
  net::VirtualTime time_{context_, clock_};
  MetricRegistry metrics_;
  net::TaskGroup tasks_{context_.get_executor(), "controllers"};
  std::unique_ptr<Controller> controller_;
  Answer answer_ = [](const ObjectKey&) -> Result<Requeue> { return Requeue{}; };
  Duration takes_ = 10ms;
  bool is_open_ = true;
  std::set<ObjectKey> held_;
  std::size_t most_held_ = 0;
  std::map<std::string, std::vector<Duration>> runs_;
};

TEST_F(ControllerTest, ReconcilesAKeyOnceForOneTrigger) {
  start();
  controller_->trigger(key("a"));
  time_.run_for(1h);
  EXPECT_EQ(runs_["a"], std::vector<Duration>{0s});
  EXPECT_TRUE(shows(R"(kantha_operator_reconcile_total{controller="test",result="done"} 1)"));
}

// F40
TEST_F(ControllerTest, RunsAKeyOnceMoreHoweverOftenItIsTriggeredWhileInWork) {
  takes_ = 5s;
  start();
  controller_->trigger(key("a"));
  time_.run_for(1s);
  for (int i = 0; i < 10'000; ++i) controller_->trigger(key("a"));
  time_.run_for(1h);
  EXPECT_EQ(runs_["a"], (std::vector<Duration>{0s, 5s}));
}

TEST_F(ControllerTest, WorksOnAsManyKeysAtOnceAsItHasWorkers) {
  takes_ = 1s;
  start({.workers = 3});
  for (char name = 'a'; name < 'j'; ++name) controller_->trigger(key(std::string(1, name)));
  time_.run_for(3500ms);
  EXPECT_EQ(most_held_, 3u);
  EXPECT_EQ(runs_.size(), 9u) << "nine keys by three in three seconds";
  EXPECT_EQ(runs_["i"], std::vector<Duration>{2s});
}

TEST_F(ControllerTest, ComesBackWhenTheReconcileSaysSo) {
  answer_ = [this](const ObjectKey&) -> Result<Requeue> {
    if (count("a") >= 3) return Requeue{};
    return Requeue{.after = 10min};
  };
  takes_ = 0s;
  start();
  controller_->trigger(key("a"));
  time_.run_for(2h);
  EXPECT_EQ(runs_["a"], (std::vector<Duration>{0s, 10min, 20min}));
}

TEST_F(ControllerTest, TriggersLaterWhenToldTo) {
  start();
  controller_->trigger_after(key("a"), 30s);
  time_.run_for(1min);
  EXPECT_EQ(runs_["a"], std::vector<Duration>{30s});
}

// F41: 5 ms doubling to 1000 s
TEST_F(ControllerTest, BacksOffFromAKeyThatFailsUntilItWorks) {
  answer_ = [this](const ObjectKey&) -> Result<Requeue> {
    if (clock_.now() < TimePoint(2h)) return error_of(Code::kUnavailable, "poison");
    return Requeue{};
  };
  takes_ = 0s;
  start();
  controller_->trigger(key("a"));
  time_.run_for(4h);
  const auto& runs = runs_["a"];
  ASSERT_GE(runs.size(), 20u);
  Duration expected = 5ms;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i] - runs[i - 1], expected) << i;
    expected = std::min<Duration>(expected * 2, 1000s);
  }
  EXPECT_TRUE(controller_->failures().empty());
  EXPECT_EQ(controller_->queue().failure_count(key("a")), 0);
}

// F41: exceptions
TEST_F(ControllerTest, TakesAnExceptionForAFailure) {
  answer_ = [this](const ObjectKey& wanted) -> Result<Requeue> {
    if (count(wanted.name) == 1) throw std::runtime_error("a planner's trouble");
    if (count(wanted.name) == 2) throw 7;  // NOLINT: not a std::exception, on purpose
    return Requeue{};
  };
  start();
  controller_->trigger(key("a"));
  time_.run_for(11ms);
  ASSERT_EQ(controller_->failures().size(), 1u);
  EXPECT_NE(controller_->failures()[0].second.find("a planner's trouble"), std::string::npos);
  time_.run_for(1s);
  EXPECT_EQ(count("a"), 3u);
  EXPECT_EQ(controller_->counts().exceptions, 2u);
}

// F41: p99 of other keys
TEST_F(ControllerTest, KeepsOtherKeysAsQuickAsWithoutThePoison) {
  const auto worst_wait = [this](bool with_poison) {
    runs_.clear();
    if (with_poison) controller_->trigger(key("poison"));
    Duration worst{};
    for (int i = 0; i < 200; ++i) {
      const std::string name = "good" + std::to_string(i);
      const Duration asked = clock_.now().time_since_epoch();
      controller_->trigger(key(name));
      time_.run_for(100ms);
      worst = std::max(worst, runs_.at(name).at(0) - asked);
    }
    return worst;
  };
  answer_ = [](const ObjectKey& wanted) -> Result<Requeue> {
    if (wanted.name == "poison") throw std::runtime_error("poison");
    return Requeue{};
  };
  start({.workers = 2});
  EXPECT_EQ(worst_wait(false), 0s);
  EXPECT_EQ(worst_wait(true), 0s);
  EXPECT_GE(count("poison"), 8u);
}

TEST_F(ControllerTest, LeavesATerminalErrorUntilTheNextChange) {
  answer_ = [](const ObjectKey&) -> Result<Requeue> {
    return error_of(Code::kInvalidArgument, "no retry can mend this", kTerminal);
  };
  start();
  controller_->trigger(key("a"));
  time_.run_for(10h);
  EXPECT_EQ(count("a"), 1u);
  EXPECT_EQ(controller_->failures().size(), 1u);
  EXPECT_TRUE(shows(R"(kantha_operator_reconcile_total{controller="test",result="terminal"} 1)"));
  controller_->trigger(key("a"));
  time_.run_for(10h);
  EXPECT_EQ(count("a"), 2u);
}

// F11
TEST_F(ControllerTest, WaitsAsLongAsTheServerSaid) {
  answer_ = [this](const ObjectKey&) -> Result<Requeue> {
    if (count("a") > 1) return Requeue{};
    Error error = error_of(Code::kResourceExhausted, "slow down");
    error.retry_after_ms = 7000;
    return error;
  };
  takes_ = 0s;
  start();
  controller_->trigger(key("a"));
  time_.run_for(1min);
  EXPECT_EQ(runs_["a"], (std::vector<Duration>{0s, 7s}));
}

TEST_F(ControllerTest, LogsEqualErrorsOnce) {
  answer_ = [this](const ObjectKey&) -> Result<Requeue> {
    return error_of(Code::kUnavailable, count("a") <= 5 ? "first trouble" : "second trouble");
  };
  ::testing::internal::CaptureStderr();
  start();
  controller_->trigger(key("a"));
  time_.run_for(10min);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_GE(count("a"), 10u);
  const auto lines = [&](const std::string& text) {
    int found = 0;
    for (std::size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(lines("first trouble"), 1);
  EXPECT_EQ(lines("second trouble"), 1);
}

TEST_F(ControllerTest, HoldsItsWorkersWhileTheGateIsClosed) {
  is_open_ = false;
  start();
  controller_->trigger(key("a"));
  time_.run_for(1min);
  EXPECT_EQ(count("a"), 0u);
  is_open_ = true;
  controller_->gate_changed();
  time_.run_for(1s);
  EXPECT_EQ(count("a"), 1u);
  is_open_ = false;  // nobody says so: each key is asked for
  controller_->trigger(key("b"));
  time_.run_for(1min);
  EXPECT_EQ(count("b"), 0u);
}

// The process ends: what is in work is done, what waits is left
TEST_F(ControllerTest, FinishesWhatItHoldsWhenStopped) {
  takes_ = 20s;
  start({.workers = 1});
  controller_->trigger(key("a"));
  controller_->trigger(key("b"));
  time_.run_for(5s);
  controller_->stop();
  time_.run_for(10s);
  EXPECT_EQ(tasks_.running(), 1u) << "a is still in work";
  time_.run_for(10s);
  EXPECT_EQ(tasks_.running(), 0u);
  EXPECT_EQ(clock_.now(), TimePoint(25s));
  EXPECT_EQ(count("b"), 0u);
}

TEST_F(ControllerTest, WaitsNoLongerThanItsDrainTimeoutAndNamesWhatHangs) {
  takes_ = 10min;
  start({.workers = 1, .drain_timeout = 30s});
  controller_->trigger(key("stuck"));
  time_.run_for(5s);
  ::testing::internal::CaptureStderr();
  controller_->stop();
  time_.run_for(29s);
  EXPECT_EQ(tasks_.running(), 1u);
  time_.run_for(2s);
  EXPECT_EQ(tasks_.running(), 0u);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("default/stuck"), std::string::npos);
  ASSERT_EQ(controller_->in_work().size(), 1u);
}

TEST_F(ControllerTest, CountsReconcilesThatTakeTooLong) {
  takes_ = 61s;
  start();
  controller_->trigger(key("a"));
  time_.run_for(30s);
  ASSERT_EQ(controller_->in_work().size(), 1u);
  EXPECT_EQ(controller_->in_work()[0].second, 30s);
  time_.run_for(1min);
  EXPECT_EQ(controller_->counts().overdue, 1u);
  EXPECT_TRUE(shows(R"(kantha_operator_reconcile_overdue_total{controller="test"} 1)"));
}

TEST_F(ControllerTest, PublishesHowManyKeysWait) {
  is_open_ = false;
  start();
  controller_->trigger(key("a"));
  controller_->trigger(key("b"));
  controller_->trigger_after(key("c"), 1h);
  EXPECT_TRUE(shows(R"(kantha_operator_queue_keys{controller="test",state="ready"} 2)"));
  EXPECT_TRUE(shows(R"(kantha_operator_queue_keys{controller="test",state="delayed"} 1)"));
  EXPECT_TRUE(shows(R"(kantha_operator_queue_keys{controller="test",state="in_work"} 0)"));
}

// F43: idle costs nothing
TEST_F(ControllerTest, WakesSeldomWhileNothingHappens) {
  start({.workers = 4});
  for (int i = 0; i < 1000; ++i) controller_->trigger(key(std::to_string(i)));
  time_.run_for(1min);
  EXPECT_EQ(controller_->counts().done, 1000u);
  time_.run_for(1h);
  EXPECT_EQ(controller_->counts().done, 1000u);
}

}  // namespace
}  // namespace kantha::runtime
