#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/process.h"

namespace kantha {
namespace {

constexpr int kOrphanedStatus = 125;

void wait_for_end_of_file(int fd) {
  for (;;) {
    char byte;
    const ssize_t count = ::read(fd, &byte, 1);
    if (count == 0) ::_exit(kOrphanedStatus);
    if (count < 0 && errno != EINTR) return;
  }
}

}  // namespace

void watch_lifeline() {
  const char* text = std::getenv("KANTHA_LIFELINE_FD");
  if (text == nullptr) return;
  int fd = -1;
  const auto parsed = std::from_chars(text, text + std::strlen(text), fd);
  ::unsetenv("KANTHA_LIFELINE_FD");  // It is this process's own, not its children's.
  if (parsed.ec != std::errc() || fd < 0) return;
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return;  // No such descriptor.
  // The one thread without an owner: it lives exactly as long as the process.
  std::thread(wait_for_end_of_file, fd).detach();
}

}  // namespace kantha
