#include "operator/runtime/watcher.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>

#include "base/net/virtual_time.h"
#include "operator/kube/api_fault.h"
#include "tests/operator/runtime/lamp_transport.h"

/// The watcher whole, with a client and bytes, against a server of lamps in virtual time. Its
/// decisions are tested in watcher_step_test.
namespace kantha::runtime {
namespace {

using namespace std::chrono_literals;

class WatcherTest : public ::testing::Test {
 protected:
  void start(bool knows_watch_list = true) {
    server_ = std::make_unique<LampServer>(knows_watch_list);
    transport_ = std::make_unique<LampTransport>(context_.get_executor(), clock_, *server_);
    client_ = std::make_unique<kube::ApiClient>(*transport_, limiter_, metrics_);
    server_->put("a", "red");
    server_->put("b", "blue");
    server_->put("c", "red");
    watcher_ =
        std::make_unique<Watcher>(context_.get_executor(), clock_, /*seed=*/5, *client_, metrics_,
                                  WatcherOptions{.resource = kLamps}, sink_of(store_));
    tasks_.spawn(watcher_->run());
    time_.run_for(1s);
  }
  void TearDown() override {
    if (!watcher_) return;
    watcher_->stop();
    time_.run_for(1s);
    EXPECT_EQ(tasks_.running(), 0u) << "stop() ends it at once, whatever it does";
  }

  /// Something happens on the server; the watch carries it.
  void change(const std::string& name, const std::string& color) {
    server_->put(name, color);
    transport_->changed();
  }
  void set_down(bool is_down) {
    transport_->faults.is_down = is_down;
    transport_->changed();
  }
  bool is_right() const { return state_of(store_) == server_->state_at(server_->version()); }
  double metric(const std::string& name) {
    return metrics_.counter("kantha_operator_watch_" + name, "", {{"resource", "lamps"}}).value();
  }
  /// Virtual time until the store is right, at most ten minutes.
  Duration until_right() {
    const TimePoint begun = clock_.now();
    while (!is_right() && clock_.now() - begun < 10min) time_.run_for(100ms);
    return clock_.now() - begun;
  }

  boost::asio::io_context context_;
  FakeClock clock_;
  net::VirtualTime time_{context_, clock_};
  MetricRegistry metrics_;
  kube::RateLimiter limiter_{clock_, 0, 1};
  net::TaskGroup tasks_{context_.get_executor(), "watchers"};
  std::unique_ptr<LampServer> server_;
  std::unique_ptr<LampTransport> transport_;
  std::unique_ptr<kube::ApiClient> client_;
  Store<Lamp> store_{kLamps, decode_lamp};
  std::unique_ptr<Watcher> watcher_;
};

TEST_F(WatcherTest, StreamsWhatIsThereAndFollowsChanges) {
  start();
  EXPECT_TRUE(store_.is_synced());
  EXPECT_TRUE(is_right());
  EXPECT_EQ(transport_->request_count(), 1u) << "one watch did it all";
  change("a", "green");
  server_->remove("b");
  change("d", "red");
  time_.run_ready();
  EXPECT_TRUE(is_right());
  EXPECT_EQ(watcher_->state().resource_version, std::to_string(server_->version()));
  EXPECT_EQ(metric("events_total"), 3 + 1 + 3);
  EXPECT_NE(watcher_->description().find("Watching at " + std::to_string(server_->version())),
            std::string::npos);
}

// F7
TEST_F(WatcherTest, ListsWhereTheServerCannotStream) {
  start(/*knows_watch_list=*/false);
  EXPECT_TRUE(store_.is_synced());
  time_.run_for(1s);
  EXPECT_EQ(transport_->request_count(), 3u) << "a refusal, a list, a watch";
  change("a", "green");
  time_.run_ready();
  EXPECT_TRUE(is_right());
}

// F1
TEST_F(WatcherTest, LosesNothingWhenAWatchIsCutInTheMiddleOfALine) {
  start();
  transport_->faults.instead_of_next_line = R"({"type":"MODIFIED","object":{"metadata":{"na)";
  transport_->faults.cuts_after_that = true;
  change("a", "green");
  change("b", "green");
  EXPECT_LE(until_right(), 2s);
  EXPECT_EQ(metric("restarts_total"), 1);
  EXPECT_EQ(metric("relists_total"), 0);
}

// F3
TEST_F(WatcherTest, ListsAnewAfterAnErrorOfCode410InTheStream) {
  start();
  server_->compact(server_->version());
  change("a", "green");
  transport_->faults.instead_of_next_line =
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}})"
      "\n";
  transport_->changed();
  EXPECT_LE(until_right(), 1s);
  EXPECT_EQ(metric("relists_total"), 1);
}

// F10
TEST_F(WatcherTest, AsksSeldomWhileEveryWatchEndsAtOnce) {
  start();
  transport_->faults.ends_at_once = true;
  transport_->changed();
  const std::size_t before = transport_->request_count();
  time_.run_for(1h);
  EXPECT_LE(transport_->request_count() - before, 3600u * 3 / 10);
  EXPECT_GE(transport_->request_count() - before, 60u) << "and for ever";
  transport_->faults.ends_at_once = false;
  change("a", "green");
  EXPECT_LE(until_right(), 31s);
}

// F11
TEST_F(WatcherTest, ComesBackWhenAThrottlingServerSaid) {
  start();
  transport_->faults.refuse_status = 429;
  transport_->faults.retry_after = "20";
  set_down(true);
  time_.run_for(10ms);
  set_down(false);
  time_.run_for(2s);
  const std::size_t before = transport_->request_count();
  transport_->faults.refuse_status = 0;
  time_.run_for(17s);
  EXPECT_EQ(transport_->request_count(), before);
  time_.run_for(5s);
  EXPECT_EQ(transport_->request_count(), before + 1);
  EXPECT_TRUE(is_right());
  EXPECT_EQ(metric("relists_total"), 0);
}

// F12
TEST_F(WatcherTest, NoticesThatAConnectionIsSilent) {
  start();
  server_->send_bookmark();
  transport_->changed();
  time_.run_ready();
  transport_->faults.is_silent = true;
  change("a", "green");
  time_.run_for(119s);
  EXPECT_EQ(transport_->request_count(), 1u);
  transport_->faults.is_silent = false;  // of the next connection
  time_.run_for(2s);
  EXPECT_EQ(transport_->request_count(), 2u);
  EXPECT_TRUE(is_right());
}

// F13
TEST_F(WatcherTest, CatchesUpWithinAMinuteAfterTheServerWasAway) {
  start();
  set_down(true);
  server_->put("a", "green");
  server_->remove("b");
  const std::size_t before = transport_->request_count();
  time_.run_for(10min);
  EXPECT_LE(transport_->request_count() - before, 180u);
  EXPECT_FALSE(store_.is_stale()) << "away is no refusal";
  EXPECT_EQ(store_.size(), 3u) << "it keeps what it had";
  set_down(false);
  EXPECT_LE(until_right(), 60s);
  EXPECT_EQ(metric("relists_total"), 0);
}

// F32, F33
TEST_F(WatcherTest, MarksItsStoreWhileTheServerRefusesAndRecoversByItself) {
  for (const int status : {403, 404}) {
    SCOPED_TRACE(status);
    start();
    transport_->faults.refuse_status = status;
    set_down(true);
    time_.run_for(10ms);
    set_down(false);
    change("a", "green");
    time_.run_for(10min);
    EXPECT_TRUE(store_.is_stale());
    EXPECT_EQ(store_.size(), 3u) << "it keeps what it had";
    ASSERT_TRUE(watcher_->trouble());
    EXPECT_NE(watcher_->trouble()->message.find("lamps"), std::string::npos);
    EXPECT_NE(watcher_->description().find("refused"), std::string::npos);
    transport_->faults.refuse_status = 0;
    EXPECT_LE(until_right(), 60s);
    EXPECT_FALSE(store_.is_stale());
    EXPECT_FALSE(watcher_->trouble());
    TearDown();
    watcher_.reset();
  }
}

// F14
TEST_F(WatcherTest, GoesOnAfterLinesThatAreNoEvents) {
  start();
  transport_->faults.instead_of_next_line =
      "no json\n"
      "{\"type\":\"SOMETHING\",\"object\":{}}\n"
      "{\"type\":\"ADDED\",\"object\":7}\n"
      "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"x\",\"namespace\":\"home\"}}}\n";
  change("a", "green");
  time_.run_ready();
  EXPECT_TRUE(is_right());
  EXPECT_EQ(transport_->request_count(), 1u);
  EXPECT_EQ(store_.undecodable_count(), 1u) << "the one that was an event of an object";
}

TEST_F(WatcherTest, StopsWhileItWaitsAndWhileItReads) {
  start();  // reading: TearDown looks
  TearDown();
  watcher_.reset();
  start();
  set_down(true);
  time_.run_for(2min);  // in a pause of up to half a minute: TearDown looks
}

}  // namespace
}  // namespace kantha::runtime
