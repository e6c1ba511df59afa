#include "base/thread_priority.h"

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <thread>

namespace kantha {
namespace {

int priority() { return getpriority(PRIO_PROCESS, 0); }

/// What the kernel calls the runtime of this thread; 0 before Linux 6.12.
std::uint64_t turn_ns() {
  std::array<std::uint64_t, 6> attributes{};  // struct sched_attr: the fourth word is the runtime
  EXPECT_EQ(syscall(SYS_sched_getattr, 0, attributes.data(), sizeof attributes, 0U), 0);
  return attributes[3];
}

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

TEST(ThreadPriority, ShortTurnsAreThoseOfTheThreadThatAskedAndNothingElseChanges) {
  const std::uint64_t usual = turn_ns();
  const int before = priority();
  std::uint64_t asked = 0;
  int kept = 0, policy = -1;
  std::thread([&] {
    ask_for_short_turns();
    asked = turn_ns();
    kept = priority();
    policy = sched_getscheduler(0);
  }).join();
  EXPECT_EQ(asked, usual == 0 ? 0U : 100'000U) << "a kernel before 6.12 knows of no turns";
  EXPECT_EQ(kept, before);
  EXPECT_EQ(policy, sched_getscheduler(0));
  EXPECT_EQ(turn_ns(), usual);
}

}  // namespace
}  // namespace kantha
