#include "base/thread_priority.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <thread>

namespace kantha {
namespace {

int priority() { return getpriority(PRIO_PROCESS, 0); }

TEST(ThreadPriority, StandsBackWithTheThreadsItStartsAndNobodyElse) {
  const int before = priority();
  int lowered = 0;
  int inherited = 0;
  std::thread([&] {
    lower_thread_priority(3);
    lowered = priority();
    std::thread([&] { inherited = priority(); }).join();
  }).join();
  EXPECT_EQ(lowered, std::min(before + 3, 19));
  EXPECT_EQ(inherited, lowered);
  EXPECT_EQ(priority(), before);
}

}  // namespace
}  // namespace kantha
