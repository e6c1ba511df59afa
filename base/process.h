#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

/// Child processes that cannot outlive their parent.
///
/// Every child gets PR_SET_PDEATHSIG(SIGKILL) and a lifeline: the read end of a pipe whose only
/// write end is in the parent. Whatever way the parent dies, the kernel ends the child. (The death
/// signal fires when the spawning *thread* ends, so spawn from a thread that lives as long as the
/// program; the lifeline covers the rest.)
namespace kantha {

struct ProcessSpec {
  std::string binary;             ///< path; no PATH lookup
  std::vector<std::string> args;  ///< without argv[0]
  /// Variables to set on top of the parent's environment.
  std::vector<std::pair<std::string, std::string>> environment = {};
  /// Descriptors to hand down: parent's fd → number in the child. All others are closed.
  std::vector<std::pair<int, int>> inherit = {};
  /// File that receives the child's stdout and stderr (appended); empty: inherited.
  std::string log_path = {};
  /// CPUs that the child may use (taken as far as the kernel allows); empty: the parent's.
  std::vector<int> cpus = {};
  /// Start in a new process group, so that a terminal's Ctrl-C reaches only the parent.
  bool own_group = true;
};

/// How a child ended.
struct ProcessExit {
  int code = 0;    ///< exit status when signal == 0
  int signal = 0;  ///< the signal that ended it, or 0
  /// "exit 3" or "signal 9 (Killed)".
  std::string to_string() const;
};

/// One child. Move-only; destroying a running child kills and reaps it. One thread.
class Process {
 public:
  /// kNotFound when the binary does not exist or is not executable (with the path).
  static Result<Process> spawn(const ProcessSpec& spec);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  pid_t pid() const { return pid_; }
  /// The exit once it has ended (reaps it); nullopt while it runs. Never blocks.
  std::optional<ProcessExit> poll();
  /// Sends a signal; ignored when it has ended.
  void signal(int number);

 private:
  Process(pid_t pid, int lifeline) : pid_(pid), lifeline_(lifeline) {}
  pid_t pid_ = -1;
  int lifeline_ = -1;
  std::optional<ProcessExit> exit_;
};

/// Call first thing in a child's main: when KANTHA_LIFELINE_FD names a descriptor, a thread waits
/// for its end-of-file and then ends this process at once with status 125.
void watch_lifeline();

}  // namespace kantha
