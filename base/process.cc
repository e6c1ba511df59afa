#include "base/process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

extern char** environ;

namespace kantha {
namespace {

constexpr const char* kLifelineVariable = "KANTHA_LIFELINE_FD";

/// A descriptor that is closed with its owner.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { close(); }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

struct Pipe {
  Fd reader;
  Fd writer;
};

Error errno_error(const std::string& what, int reason) {
  return internal_error(what + ": " + std::strerror(reason));
}

Result<Pipe> make_pipe() {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_error("pipe", errno);
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

/// Everything the child needs, made ready before the fork: between fork and exec only
/// async-signal-safe calls are allowed, so no allocation and no lock.
struct ChildPlan {
  std::vector<std::string> strings;
  std::vector<char*> argv;
  std::vector<char*> envp;
  /// Parent's fd, number in the child; the lifeline and the failure pipe are the last two.
  std::vector<std::pair<int, int>> moves;
  std::vector<int> parked;
  int stdin_fd = -1;
  int log_fd = -1;      ///< -1: stdout and stderr are inherited
  int failure_fd = -1;  ///< where the failure pipe stands now, as the moves go on
  int fd_limit = 0;
  pid_t parent = 0;
  bool own_group = true;
  bool has_cpus = false;
  cpu_set_t cpus = {};
};

void fill_arguments(const ProcessSpec& spec, int lifeline_number, ChildPlan& plan) {
  std::map<std::string, std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals != text.npos)
      environment[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : spec.environment) environment[name] = value;
  environment[kLifelineVariable] = std::to_string(lifeline_number);

  plan.strings.push_back(spec.binary);
  plan.strings.insert(plan.strings.end(), spec.args.begin(), spec.args.end());
  const std::size_t argument_count = plan.strings.size();
  for (const auto& [name, value] : environment) plan.strings.push_back(name + "=" + value);
  for (std::size_t i = 0; i < plan.strings.size(); ++i) {
    (i < argument_count ? plan.argv : plan.envp).push_back(plan.strings[i].data());
  }
  plan.argv.push_back(nullptr);
  plan.envp.push_back(nullptr);
}

void close_from(unsigned first, unsigned last, int fd_limit) {
  if (::close_range(first, last, 0) == 0) return;
  // Kernels before 5.9.
  const int end = static_cast<int>(std::min(last, static_cast<unsigned>(fd_limit)));
  for (int fd = static_cast<int>(first); fd <= end; ++fd) ::close(fd);
}

/// Gives every handed-down descriptor its number and closes the rest. Two rounds, because a target
/// number may be another one's source. Returns false with errno set.
bool place_descriptors(ChildPlan& plan) {
  const int base = plan.moves.back().second + 1;
  for (std::size_t i = 0; i < plan.moves.size(); ++i) {
    plan.parked[i] = ::fcntl(plan.moves[i].first, F_DUPFD, base);
    if (plan.parked[i] < 0) return false;
  }
  plan.failure_fd = plan.parked.back();
  if (::dup2(plan.stdin_fd, STDIN_FILENO) < 0) return false;
  if (plan.log_fd >= 0) {
    if (::dup2(plan.log_fd, STDOUT_FILENO) < 0 || ::dup2(plan.log_fd, STDERR_FILENO) < 0) {
      return false;
    }
  }
  close_from(3, static_cast<unsigned>(base - 1), plan.fd_limit);
  for (std::size_t i = 0; i < plan.moves.size(); ++i) {
    if (::dup2(plan.parked[i], plan.moves[i].second) < 0) return false;
  }
  plan.failure_fd = plan.moves.back().second;
  close_from(static_cast<unsigned>(base), ~0U, plan.fd_limit);
  return ::fcntl(plan.moves.back().second, F_SETFD, FD_CLOEXEC) == 0;
}

/// Runs in the child between fork and exec.
[[noreturn]] void run_child(ChildPlan& plan) {
  if (plan.own_group) ::setpgid(0, 0);
  if (plan.has_cpus) (void)::sched_setaffinity(0, sizeof plan.cpus, &plan.cpus);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(125);  // The parent died before the line above.
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (place_descriptors(plan)) ::execve(plan.argv[0], plan.argv.data(), plan.envp.data());
  const int reason = errno;
  const ssize_t ignored = ::write(plan.failure_fd, &reason, sizeof reason);
  static_cast<void>(ignored);
  ::_exit(127);
}

/// The errno with which the child failed before or at exec; 0 when it runs the program.
int read_failure(int fd) {
  int reason = 0;
  ssize_t count;
  do {
    count = ::read(fd, &reason, sizeof reason);
  } while (count < 0 && errno == EINTR);
  return count == sizeof reason ? reason : 0;
}

Error exec_error(const std::string& binary, int reason) {
  std::string message = binary + ": " + std::strerror(reason);
  if (reason == ENOENT || reason == EACCES || reason == ENOTDIR)
    return not_found(std::move(message));
  return internal_error(std::move(message));
}

Status check_binary(const std::string& binary) {
  if (::access(binary.c_str(), X_OK) == 0) return ok_status();
  return exec_error(binary, errno);
}

Result<Fd> open_log(const std::string& path) {
  if (path.empty()) return Fd();
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (fd.get() < 0) return errno_error(path, errno);
  return fd;
}

int descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
}

void reap(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::string ProcessExit::to_string() const {
  if (signal == 0) return "exit " + std::to_string(code);
  const char* name = ::strsignal(signal);
  return "signal " + std::to_string(signal) + " (" + (name == nullptr ? "?" : name) + ")";
}

Result<Process> Process::spawn(const ProcessSpec& spec) {
  TRY_OK(check_binary(spec.binary));
  int top = STDERR_FILENO;
  for (const auto& [source, number] : spec.inherit) {
    CHECK(source >= 0 && number > STDERR_FILENO, "inherit: numbers start at 3");
    top = std::max(top, number);
  }
  TRY(Pipe lifeline, make_pipe());
  TRY(Pipe failure, make_pipe());
  TRY(const Fd log, open_log(spec.log_path));
  const Fd null_input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (null_input.get() < 0) return errno_error("/dev/null", errno);

  ChildPlan plan;
  fill_arguments(spec, top + 1, plan);
  plan.moves = spec.inherit;
  plan.moves.emplace_back(lifeline.reader.get(), top + 1);
  plan.moves.emplace_back(failure.writer.get(), top + 2);
  plan.parked.resize(plan.moves.size(), -1);
  plan.stdin_fd = null_input.get();
  plan.log_fd = log.get();
  plan.failure_fd = failure.writer.get();
  plan.fd_limit = descriptor_limit();
  plan.parent = ::getpid();
  plan.own_group = spec.own_group;
  CPU_ZERO(&plan.cpus);
  for (const int cpu : spec.cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &plan.cpus);
  }
  plan.has_cpus = CPU_COUNT(&plan.cpus) > 0;

  const pid_t pid = ::fork();
  if (pid < 0) return errno_error("fork", errno);
  if (pid == 0) run_child(plan);

  failure.writer.close();
  if (const int reason = read_failure(failure.reader.get()); reason != 0) {
    reap(pid);
    return exec_error(spec.binary, reason);
  }
  return Process(pid, lifeline.writer.release());
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      lifeline_(std::exchange(other.lifeline_, -1)),
      exit_(other.exit_) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(lifeline_, other.lifeline_);
  std::swap(exit_, other.exit_);
  return *this;
}

Process::~Process() {
  if (pid_ > 0 && !exit_) {
    ::kill(pid_, SIGKILL);
    reap(pid_);
  }
  if (lifeline_ >= 0) ::close(lifeline_);
}

std::optional<ProcessExit> Process::poll() {
  if (exit_ || pid_ <= 0) return exit_;
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == pid_) {
    exit_ = WIFSIGNALED(status) ? ProcessExit{0, WTERMSIG(status)}
                                : ProcessExit{WEXITSTATUS(status), 0};
  } else if (ended < 0 && errno == ECHILD) {
    // Somebody else reaped it; how it ended is unknown, that it ended is not.
    exit_ = ProcessExit{-1, 0};
  }
  return exit_;
}

void Process::signal(int number) {
  if (pid_ > 0 && !exit_) ::kill(pid_, number);
}

}  // namespace kantha
