#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/process.h"

/// What process_test starts; the first argument says what to do.
namespace {

int list_descriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 1;
  while (const dirent* entry = ::readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != ::dirfd(folder)) std::printf("fd=%d\n", fd);
  }
  ::closedir(folder);
  return 0;
}

int count_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  std::printf("cpus=%d\n", CPU_COUNT(&set));
  return 0;
}

/// Starts this program again as "wait", prints its id and dies without a word to it.
int orphan_a_child(const char* self) {
  kantha::ProcessSpec spec{.binary = self, .args = {"wait"}};
  auto child = kantha::Process::spawn(spec);
  if (!child.ok()) return 1;
  std::printf("pid=%d\n", static_cast<int>(child->pid()));
  std::fflush(stdout);
  ::kill(::getpid(), SIGKILL);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string_view verb = argv[1];
  if (verb == "exit") return std::atoi(argv[2]);
  if (verb == "descriptors") return list_descriptors();
  if (verb == "cpus") return count_cpus();
  if (verb == "orphan") return orphan_a_child(argv[0]);
  if (verb == "environment") {
    const char* value = std::getenv(argv[2]);
    std::printf("%s\n", value == nullptr ? "(unset)" : value);
    return 0;
  }
  if (verb == "group") return ::getpgrp() == ::getpid() ? 0 : 1;
  if (verb == "write") {
    const int fd = std::atoi(argv[2]);
    return ::write(fd, argv[3], std::strlen(argv[3])) > 0 ? 0 : 1;
  }
  if (verb == "wait") {
    for (;;) ::pause();
  }
  if (verb == "watch") {
    kantha::watch_lifeline();
    for (;;) ::pause();
  }
  return 2;
}
