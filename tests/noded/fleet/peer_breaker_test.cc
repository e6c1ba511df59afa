#include "noded/fleet/peer_breaker.h"

#include <gtest/gtest.h>

namespace kantha::noded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PeerBreakerTest : public testing::Test {
 protected:
  TimePoint at(Duration after) const { return TimePoint{} + after; }
  void open() {
    for (int i = 0; i < 3; ++i) breaker_.failed(at(seconds(0)));
  }
  PeerBreaker breaker_;
};

TEST_F(PeerBreakerTest, OpensAfterFailuresInARowAndSaysSoOnce) {
  EXPECT_FALSE(breaker_.failed(at(seconds(0))));
  EXPECT_FALSE(breaker_.failed(at(seconds(0))));
  EXPECT_TRUE(breaker_.is_closed());
  EXPECT_TRUE(breaker_.failed(at(seconds(0))));
  EXPECT_FALSE(breaker_.is_closed());
  EXPECT_FALSE(breaker_.failed(at(seconds(0)))) << "it was open";
}

TEST_F(PeerBreakerTest, ASuccessBetweenStartsTheCountAnew) {
  breaker_.failed(at(seconds(0)));
  breaker_.failed(at(seconds(0)));
  breaker_.succeeded();
  EXPECT_FALSE(breaker_.failed(at(seconds(0))));
  EXPECT_TRUE(breaker_.is_closed());
}

TEST_F(PeerBreakerTest, MayBeAskedOnlyAfterItsHoldAndClosesByAnAnswer) {
  open();
  EXPECT_FALSE(breaker_.may_ask(at(milliseconds(999))));
  EXPECT_TRUE(breaker_.may_ask(at(seconds(1))));
  EXPECT_FALSE(breaker_.is_closed()) << "half open is not for users' requests";
  breaker_.succeeded();
  EXPECT_TRUE(breaker_.is_closed());
}

TEST_F(PeerBreakerTest, HoldsTwiceAsLongEachTimeUpToABound) {
  open();
  TimePoint now = at(seconds(0));
  for (const int hold_s : {1, 2, 4, 8, 16, 30, 30}) {
    EXPECT_FALSE(breaker_.may_ask(now + seconds(hold_s) - milliseconds(1)));
    now += seconds(hold_s);
    EXPECT_TRUE(breaker_.may_ask(now));
    breaker_.failed(now);
  }
  breaker_.succeeded();
  breaker_.trip(now);
  EXPECT_TRUE(breaker_.may_ask(now + seconds(1))) << "a success forgives";
}

}  // namespace
}  // namespace kantha::noded
