#include "operator/kube/event_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/net/virtual_time.h"
#include "tests/operator/kube/scripted_transport.h"

namespace kantha::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

/// A server that takes a second for each call, and counts how many it has at one time.
class SlowTransport final : public Transport {
 public:
  net::Task<Result<net::HttpResponse>> call(net::HttpRequest request, Duration,
                                            std::size_t) override {
    const bool is_create = request.method == "POST";
    requests.push_back(std::move(request));
    most_at_once = std::max(most_at_once, ++at_once);
    co_await net::sleep_for(seconds(1));
    --at_once;
    co_return net::HttpResponse{is_create ? 201 : 200, {}, "{}"};
  }
  net::Task<Result<std::unique_ptr<net::ResponseStream>>> open(net::HttpRequest,
                                                               Duration) override {
    co_return unavailable("no watches here");
  }
  void close() override {}

  std::vector<net::HttpRequest> requests;
  int at_once = 0;
  int most_at_once = 0;
};

/// The recorder and its writers on virtual time, against a scripted server.
class EventRecorderTest : public testing::Test {
 protected:
  EventRecorderTest() { group_.spawn(recorder_.run()); }
  ~EventRecorderTest() override {
    recorder_.stop();
    time_.run_for(minutes(1));
  }
  void record(const std::string& message = "m") {
    recorder_.record({kPods, {"n", "a"}, "u"}, EventKind::kNormal, "Started", message);
  }
  std::size_t request_count() const { return transport_.requests.size(); }
  const net::HttpRequest& last() const { return transport_.requests.back(); }

  boost::asio::io_context io_;
  FakeClock clock_;
  net::VirtualTime time_{io_, clock_};
  ScriptedTransport transport_;
  RateLimiter limiter_{clock_, 0, 0};
  MetricRegistry metrics_;
  ApiClient client_{transport_, limiter_, metrics_};
  net::TaskGroup group_{io_.get_executor(), "test"};
  EventRecorder recorder_{io_.get_executor(), clock_, client_, metrics_,
                          "kantha-operator",  "pod-1"};
};

TEST_F(EventRecorderTest, CreatesAnEventAndThenCountsItUp) {
  transport_.answer(201, "{}");
  transport_.answer(200, "{}");
  record();
  time_.run_ready();
  ASSERT_EQ(request_count(), 1u);
  EXPECT_EQ(last().method, "POST");
  EXPECT_EQ(last().target, "/api/v1/namespaces/n/events");
  const Json created = parse_json(last().body).value();
  EXPECT_EQ(created["involvedObject"]["name"], "a");
  record();
  record();
  time_.run_ready();
  ASSERT_EQ(request_count(), 2u) << "events that wait together are one write";
  EXPECT_EQ(last().method, "PATCH");
  EXPECT_EQ(last().target,
            "/api/v1/namespaces/n/events/" + created["metadata"]["name"].get<std::string>());
  EXPECT_EQ(last().headers.find("content-type"), "application/merge-patch+json");
  EXPECT_EQ(parse_json(last().body).value()["count"], 3);
}

TEST_F(EventRecorderTest, AnEventObjectThatHasExpiredIsCreatedAgain) {
  transport_.answer(201, "{}");
  transport_.answer(404, "");
  transport_.answer(201, "{}");
  record();
  time_.run_ready();
  record();
  time_.run_ready();
  ASSERT_EQ(request_count(), 3u);
  EXPECT_EQ(last().method, "POST");
  EXPECT_EQ(parse_json(last().body).value()["count"], 2);
}

TEST_F(EventRecorderTest, TriesThreeTimesWhileTheServerIsAway) {
  for (int i = 0; i < 2; ++i) transport_.fail(Code::kUnavailable);
  transport_.answer(201, "{}");
  record();
  time_.run_for(minutes(1));
  EXPECT_EQ(request_count(), 3u);
  EXPECT_EQ(recorder_.dropped_count(), 0u);
  for (int i = 0; i < 3; ++i) transport_.answer(500, "");
  record("other");
  time_.run_for(minutes(1));
  EXPECT_EQ(request_count(), 6u);
  EXPECT_EQ(recorder_.dropped_count(), 1u);
}

TEST_F(EventRecorderTest, ARefusalIsFinalAndATakenNameIsASuccess) {
  transport_.answer(403, "");
  record();
  time_.run_for(minutes(1));
  EXPECT_EQ(request_count(), 1u);
  EXPECT_EQ(recorder_.dropped_count(), 1u);
  transport_.fail(Code::kDataLoss);
  transport_.answer(409, R"({"kind":"Status","reason":"AlreadyExists"})");
  record("other");
  time_.run_for(minutes(1));
  EXPECT_EQ(request_count(), 3u);
  EXPECT_EQ(recorder_.dropped_count(), 1u);
}

class SlowServerTest : public testing::Test {
 protected:
  SlowServerTest() { group_.spawn(recorder_.run()); }
  ~SlowServerTest() override {
    recorder_.stop();
    time_.run_for(minutes(1));
  }
  void record(const std::string& name) {
    recorder_.record({kPods, {"n", name}, name}, EventKind::kNormal, "Started", "m");
  }

  boost::asio::io_context io_;
  FakeClock clock_;
  net::VirtualTime time_{io_, clock_};
  SlowTransport transport_;
  RateLimiter limiter_{clock_, 0, 0};
  MetricRegistry metrics_;
  ApiClient client_{transport_, limiter_, metrics_};
  net::TaskGroup group_{io_.get_executor(), "test"};
  EventRecorder recorder_{io_.get_executor(), clock_, client_, metrics_, "kantha-operator", "pod"};
};

TEST_F(SlowServerTest, WritesFourAtATimeAndNoMore) {
  for (int i = 0; i < 40; ++i) record(std::to_string(i));
  time_.run_for(milliseconds(10'500));
  EXPECT_EQ(transport_.requests.size(), 40u);
  EXPECT_EQ(transport_.most_at_once, 4);
  EXPECT_EQ(recorder_.queued_count(), 0u);
}

TEST_F(SlowServerTest, NeverWritesOneEventTwiceAtATime) {
  record("a");
  time_.run_for(milliseconds(500));
  record("a");
  record("a");
  record("b");
  time_.run_for(milliseconds(200));
  EXPECT_EQ(transport_.at_once, 2) << "the second write about a waits for the first, b does not";
  time_.run_for(seconds(3));
  ASSERT_EQ(transport_.requests.size(), 3u);
  EXPECT_EQ(transport_.requests[2].method, "PATCH") << "the first made the object";
  EXPECT_EQ(parse_json(transport_.requests[2].body).value()["count"], 3);
}

TEST_F(EventRecorderTest, AFullQueueDropsAndCounts) {
  for (int i = 0; i < 1200; ++i) {
    const std::string name = std::to_string(i);
    recorder_.record({kPods, {"n", name}, name}, EventKind::kNormal, "Started", "m");
  }
  EXPECT_EQ(recorder_.dropped_count(), 200u);
  EXPECT_EQ(recorder_.queued_count(), 1000u);
  EXPECT_THAT(metrics_.scrape(), HasSubstr("kantha_operator_events_dropped_total 200"));
  EXPECT_THAT(metrics_.scrape(), HasSubstr("kantha_operator_events_queued 1000"));
}

TEST_F(EventRecorderTest, StopWritesWhatIsQueuedForFiveSeconds) {
  transport_.answer(201, "{}");
  record();
  recorder_.stop();
  record("too late");
  time_.run_ready();
  EXPECT_EQ(request_count(), 1u);
  EXPECT_EQ(group_.running(), 0u);
  EXPECT_EQ(recorder_.dropped_count(), 1u);
}

TEST_F(EventRecorderTest, StopDoesNotWaitForAServerThatIsAway) {
  for (int i = 0; i < 20; ++i) {
    const std::string name = std::to_string(i);
    recorder_.record({kPods, {"n", name}, name}, EventKind::kNormal, "Started", "m");
  }
  recorder_.stop();
  time_.run_for(seconds(10));
  EXPECT_EQ(group_.running(), 0u);
  EXPECT_EQ(recorder_.dropped_count(), 20u);
}

}  // namespace
}  // namespace kantha::kube
