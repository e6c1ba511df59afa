#include "base/thread_priority.h"

#include <sys/resource.h>

#include <cerrno>

#include "base/check.h"

namespace kantha {

void lower_thread_priority(int steps) {
  CHECK(steps >= 0, "only down");
  // On Linux `who` 0 is the calling thread, not the process.
  errno = 0;
  const int now = getpriority(PRIO_PROCESS, 0);
  if (errno == 0) static_cast<void>(setpriority(PRIO_PROCESS, 0, now + steps));
}

}  // namespace kantha
