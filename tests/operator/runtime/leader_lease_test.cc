#include "operator/runtime/leader_lease.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/net/virtual_time.h"
#include "operator/kube/transport.h"

/// Two processes with a lease, their clients and an API server that keeps one Lease, in virtual
/// time. The decisions are tested in lease_step_test and lease_property_test.
namespace kantha::runtime {
namespace {

using namespace std::chrono_literals;

/// What the API server keeps.
struct LeaseServer {
  Json lease = nullptr;
  int version = 10;
  int writes = 0;

  net::HttpResponse refuse(int code, const std::string& reason) const {
    const Json status = {{"kind", "Status"}, {"code", code}, {"reason", reason}};
    return {.status = code, .body = dump_json(status)};
  }
  net::HttpResponse serve(const net::HttpRequest& request) {
    if (request.method == "GET") {
      if (lease.is_null()) return refuse(404, "NotFound");
      return {.body = dump_json(lease)};
    }
    Json body = Json::parse(request.body);
    if (request.method == "POST") {
      if (!lease.is_null()) return refuse(409, "AlreadyExists");
    } else {
      if (lease.is_null()) return refuse(404, "NotFound");
      if (body["metadata"]["resourceVersion"] != lease["metadata"]["resourceVersion"]) {
        return refuse(409, "Conflict");
      }
    }
    // As the real one: an equal write is no change.
    if (!lease.is_null() && body["spec"] == lease["spec"]) return {.body = dump_json(lease)};
    ++writes;
    body["metadata"]["resourceVersion"] = std::to_string(++version);
    lease = std::move(body);
    return {.body = dump_json(lease)};
  }
};

class LeaseTransport final : public kube::Transport {
 public:
  explicit LeaseTransport(LeaseServer& server) : server_(server) {}

  net::Task<Result<net::HttpResponse>> call(net::HttpRequest request, Duration timeout,
                                            std::size_t) override {
    last_path = request.method + " " + std::string(request.path());
    co_await net::sleep_for(10ms);
    if (hangs) {
      co_await net::sleep_for(timeout - 10ms);
      co_return Error{Code::kDeadlineExceeded, "no answer"};
    }
    if (is_cut_off) co_return unavailable("connection refused");
    net::HttpResponse response = server_.serve(request);
    co_await net::sleep_for(10ms);
    if (loses_answers) co_return data_loss("cut");
    co_return response;
  }
  net::Task<Result<std::unique_ptr<net::ResponseStream>>> open(net::HttpRequest,
                                                               Duration) override {
    co_return unavailable("no watches here");
  }
  void close() override {}

  bool is_cut_off = false;
  bool hangs = false;
  bool loses_answers = false;
  std::string last_path;

 private:
  LeaseServer& server_;
};

/// One process.
struct Process {
  Process(boost::asio::io_context& context, const FakeClock& clock, LeaseServer& server,
          const std::string& name)
      : transport(server),
        limiter(clock, 0, 1),
        client(transport, limiter, metrics),
        lease(context.get_executor(), clock, client,
              {.key = {"kantha", "operator"}, .identity = name, .seed = name.size()}) {
    lease.on_change([this, &clock](bool leading) {
      EXPECT_EQ(leading, lease.is_leading());
      changes.emplace_back(leading, clock.now());
    });
  }

  MetricRegistry metrics;
  LeaseTransport transport;
  kube::RateLimiter limiter;
  kube::ApiClient client;
  LeaderLease lease;
  std::vector<std::pair<bool, TimePoint>> changes;
};

class LeaderLeaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    tasks_.spawn(a_.lease.run());
    time_.run_for(10s);
    tasks_.spawn(b_.lease.run());
    time_.run_for(10s);
    ASSERT_TRUE(a_.lease.is_leading());
    ASSERT_FALSE(b_.lease.is_leading());
  }
  void TearDown() override {
    for (Process* process : {&a_, &b_}) {
      process->transport.hangs = false;
      process->lease.stop();
    }
    time_.run_for(90s);
    EXPECT_EQ(tasks_.running(), 0u);
    EXPECT_FALSE(a_.lease.is_leading() || b_.lease.is_leading());
  }
  Duration until_b_leads() {
    const TimePoint begun = clock_.now();
    while (!b_.lease.is_leading() && clock_.now() - begun < 2min) {
      time_.run_for(10ms);
      EXPECT_FALSE(a_.lease.is_leading() && b_.lease.is_leading());
    }
    return clock_.now() - begun;
  }

  boost::asio::io_context context_;
  FakeClock clock_;
  net::VirtualTime time_{context_, clock_};
  net::TaskGroup tasks_{context_.get_executor(), "leases"};
  LeaseServer server_;
  Process a_{context_, clock_, server_, "a"};
  Process b_{context_, clock_, server_, "bb"};
};

TEST_F(LeaderLeaseTest, OneLeadsAndRenewsEveryTwoSeconds) {
  EXPECT_EQ(server_.lease["spec"]["holderIdentity"], "a");
  EXPECT_EQ(server_.lease["spec"]["leaseDurationSeconds"], 15);
  EXPECT_EQ(b_.lease.holder(), "a");
  const int before = server_.writes;
  time_.run_for(1min);
  EXPECT_GE(server_.writes - before, 29);
  EXPECT_LE(server_.writes - before, 30);
  EXPECT_EQ(a_.changes.size(), 1u);
  EXPECT_TRUE(b_.changes.empty());
  EXPECT_EQ(a_.transport.last_path,
            "PUT /apis/coordination.k8s.io/v1/namespaces/kantha/leases/operator");
}

// F39
TEST_F(LeaderLeaseTest, ASuccessorLeadsWithinThreeSecondsAfterAStop) {
  a_.lease.stop();
  EXPECT_LE(until_b_leads(), 3s);
  EXPECT_EQ(server_.lease["spec"]["holderIdentity"], "bb");
  EXPECT_EQ(server_.lease["spec"]["leaseTransitions"], 1) << "to nobody is none";
  EXPECT_EQ(tasks_.running(), 1u) << "a's run has ended";
}

// F35
TEST_F(LeaderLeaseTest, ALeaderThatIsCutOffStopsInTenSecondsAndTheOtherLeadsInTwenty) {
  const TimePoint cut = clock_.now();
  a_.transport.is_cut_off = true;
  const Duration took = until_b_leads();
  EXPECT_GT(took, 12s);
  EXPECT_LE(took, 20s);
  ASSERT_EQ(a_.changes.size(), 2u);
  EXPECT_FALSE(a_.changes[1].first);
  EXPECT_LE(a_.changes[1].second - cut, 10s) << "told in time, by its own clock";
}

// F35, F12: a call that hangs does not keep it from noticing
TEST_F(LeaderLeaseTest, TellsItsListenersInTimeThoughACallHangs) {
  const TimePoint cut = clock_.now();
  a_.client.set_call_timeout(60s);
  a_.transport.hangs = true;
  time_.run_for(10s);
  ASSERT_EQ(a_.changes.size(), 2u);
  EXPECT_LE(a_.changes[1].second - cut, 10s);
}

// F36: SIGSTOP for a minute
TEST_F(LeaderLeaseTest, DoesNotLeadWhenItWakesFromALongSleep) {
  clock_.advance(60s);
  EXPECT_FALSE(a_.lease.is_leading()) << "before any of its code ran";
  const int before = server_.writes;
  time_.run_for(1ms);
  EXPECT_EQ(server_.writes, before) << "it reads before it writes";
  ASSERT_GE(a_.changes.size(), 2u);
  EXPECT_FALSE(a_.changes[1].first);
}

// F38
TEST_F(LeaderLeaseTest, RecreatesALeaseThatWasDeletedAndKeepsLeading) {
  server_.lease = nullptr;
  time_.run_for(1min);
  EXPECT_TRUE(a_.lease.is_leading());
  EXPECT_EQ(server_.lease["spec"]["holderIdentity"], "a");
  EXPECT_EQ(a_.changes.size(), 1u);
}

// F38
TEST_F(LeaderLeaseTest, MendsALeaseThatWasGarbled) {
  for (const Json& spec : {Json(nullptr), Json("x"), Json::object(),
                           Json{{"holderIdentity", 5}, {"leaseDurationSeconds", "x"}}}) {
    SCOPED_TRACE(spec.dump());
    server_.lease["spec"] = spec;
    server_.lease["metadata"]["resourceVersion"] = std::to_string(++server_.version);
    time_.run_for(30s);
    EXPECT_TRUE(a_.lease.is_leading());
    EXPECT_EQ(server_.lease["spec"]["holderIdentity"], "a");
    EXPECT_EQ(a_.changes.size(), 1u);
  }
}

TEST_F(LeaderLeaseTest, KeepsTheLabelsOfTheLease) {
  server_.lease["metadata"]["labels"] = {{"team", "a"}};
  server_.lease["metadata"]["resourceVersion"] = std::to_string(++server_.version);
  time_.run_for(10s);
  EXPECT_EQ(server_.lease["metadata"]["labels"]["team"], "a");
  EXPECT_EQ(server_.lease["spec"]["holderIdentity"], "a");
}

TEST_F(LeaderLeaseTest, LearnsThatItsWriteHappenedThoughTheAnswerWasLost) {
  a_.transport.loses_answers = true;
  time_.run_for(4s);
  a_.transport.loses_answers = false;
  time_.run_for(1min);
  EXPECT_TRUE(a_.lease.is_leading());
  EXPECT_EQ(a_.changes.size(), 1u);
}

TEST_F(LeaderLeaseTest, EndsSoonWhenItCannotGiveBack) {
  a_.transport.is_cut_off = true;
  a_.lease.stop();
  time_.run_for(5s);
  EXPECT_EQ(tasks_.running(), 1u);
}

}  // namespace
}  // namespace kantha::runtime
