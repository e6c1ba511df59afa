#include "base/thread_priority.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/check.h"

namespace kantha {
namespace {

constexpr std::uint64_t kTurnNs = 100'000;  // the shortest that the kernel gives

/// The first version of the kernel's struct sched_attr, which C libraries of 2022 do not declare.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};

}  // namespace

void lower_thread_priority(int steps) {
  CHECK(steps >= 0, "only down");
  // On Linux `who` 0 is the calling thread, not the process.
  errno = 0;
  const int now = getpriority(PRIO_PROCESS, 0);
  if (errno == 0) static_cast<void>(setpriority(PRIO_PROCESS, 0, now + steps));
}

void ask_for_short_turns() {
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0U) != 0) return;
  // Where somebody chose another policy for this thread, it stays.
  if (attributes.policy != SCHED_OTHER) return;
  attributes.size = sizeof attributes;
  attributes.runtime_ns = kTurnNs;
  static_cast<void>(syscall(SYS_sched_setattr, 0, &attributes, 0U));
}

}  // namespace kantha
