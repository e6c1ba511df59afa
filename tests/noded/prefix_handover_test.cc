#include "noded/prefix_handover.h"

#include <gtest/gtest.h>

#include "base/net/task.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>

#include "base/net/virtual_time.h"

namespace kantha::noded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Peers that take half a second for each prompt.
class PrefixHandoverTest : public testing::Test {
 protected:
  PrefixHandoverTest()
      : time_(context_, clock_), start_(clock_.now()), group_(context_.get_executor(), "test") {}

  net::Task<bool> compute(net::HttpRequest request) {
    begun_.push_back(request.body);
    most_ = std::max(most_, ++running_);
    co_await net::sleep_for(takes_);
    --running_;
    co_return !refuse_;
  }
  void begin(int prompts, HandoverPolicy policy) {
    handover_ = std::make_unique<PrefixHandover>(context_.get_executor(), clock_, policy);
    EXPECT_TRUE(handover_->is_over()) << "a pod that was not told to leave waits for nothing";
    std::vector<net::HttpRequest> requests;
    for (int i = 0; i < prompts; ++i) requests.push_back({"POST", "/", {}, std::to_string(i)});
    handover_->begin(
        std::move(requests),
        [this](net::HttpRequest request) { return compute(std::move(request)); },
        [this] { return peers_; });
    group_.spawn(handover_->join());
  }
  /// How long until the pod need not wait any more.
  Duration until_over() {
    while (!handover_->is_over()) time_.run_for(milliseconds(10));
    const Duration took = clock_.now() - start_;
    time_.run_for(seconds(60));
    EXPECT_EQ(group_.running(), 0U);
    return took;
  }

  boost::asio::io_context context_{1};
  FakeClock clock_;
  net::VirtualTime time_;
  TimePoint start_;
  net::TaskGroup group_;
  std::unique_ptr<PrefixHandover> handover_;
  std::vector<std::string> begun_;
  Duration takes_ = milliseconds(500);
  int running_ = 0;
  int most_ = 0;
  bool refuse_ = false;
  bool peers_ = true;
};

TEST_F(PrefixHandoverTest, EachPromptIsComputedOnceTheHottestFirstAFewAtATime) {
  begin(10, {.at_once = 4});
  time_.run_for(milliseconds(1));
  EXPECT_EQ(begun_, (std::vector<std::string>{"0", "1", "2", "3"}));
  EXPECT_FALSE(handover_->is_over());
  const Duration took = until_over();
  EXPECT_EQ(begun_.size(), 10U);
  EXPECT_EQ(most_, 4);
  EXPECT_EQ(handover_->computed(), 10);
  EXPECT_NEAR(std::chrono::duration<double>(took).count(), 1.5, 0.05);
}

TEST_F(PrefixHandoverTest, NothingBeginsAfterItsTimeAndThePodWaitsNoLonger) {
  takes_ = seconds(7);
  begin(32, {.at_once = 2, .time_max = seconds(10)});
  const Duration took = until_over();
  EXPECT_NEAR(std::chrono::duration<double>(took).count(), 10, 0.05);
  EXPECT_EQ(begun_.size(), 4U);
}

TEST_F(PrefixHandoverTest, WithoutPeersItIsOverAtOnce) {
  peers_ = false;
  begin(5, {});
  EXPECT_LT(until_over(), milliseconds(50));
  EXPECT_TRUE(begun_.empty());
}

TEST_F(PrefixHandoverTest, PeersThatGoEndIt) {
  begin(10, {.at_once = 1});
  time_.run_for(milliseconds(700));
  peers_ = false;
  EXPECT_LT(until_over(), seconds(2));
  EXPECT_EQ(begun_.size(), 2U);
}

TEST_F(PrefixHandoverTest, WhatNobodyTookIsNotCountedAndStopsNothing) {
  refuse_ = true;
  begin(3, {});
  until_over();
  EXPECT_EQ(begun_.size(), 3U);
  EXPECT_EQ(handover_->computed(), 0);
}

TEST_F(PrefixHandoverTest, NothingHotIsNothingToDo) {
  begin(0, {});
  EXPECT_LT(until_over(), milliseconds(50));
}

}  // namespace
}  // namespace kantha::noded
