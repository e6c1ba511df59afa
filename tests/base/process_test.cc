#include "base/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "base/clock.h"

namespace kantha {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string child_binary() {
  const char* folder = std::getenv("KANTHA_BIN_DIR");
  return (folder == nullptr ? std::string(".") : std::string(folder)) + "/process_test_child";
}

bool wait_until(const std::function<bool()>& done) {
  const TimePoint deadline = system_clock().now() + std::chrono::seconds(20);
  while (!done()) {
    if (system_clock().now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

ProcessExit wait_for_exit(Process& process) {
  EXPECT_TRUE(wait_until([&] { return process.poll().has_value(); })) << "the child still runs";
  return process.poll().value_or(ProcessExit{-2, 0});
}

class ProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    log_path_ = testing::TempDir() + "kantha_process_" + std::to_string(::getpid()) + ".log";
    std::filesystem::remove(log_path_);
  }
  void TearDown() override { std::filesystem::remove(log_path_); }

  ProcessSpec spec(std::vector<std::string> args) const {
    return {.binary = child_binary(), .args = std::move(args), .log_path = log_path_};
  }
  std::string log_text() const {
    std::ostringstream text;
    text << std::ifstream(log_path_).rdbuf();
    return text.str();
  }
  /// Runs to the end and gives what it wrote.
  std::string output_of(const ProcessSpec& spec) {
    auto process = Process::spawn(spec);
    if (!process.ok()) return process.error().to_string();
    EXPECT_EQ(wait_for_exit(*process).to_string(), "exit 0");
    return log_text();
  }

  std::string log_path_;
};

TEST_F(ProcessTest, AChildsStatusIsReportedOnceItHasEnded) {
  auto process = Process::spawn(spec({"exit", "3"}));
  ASSERT_TRUE(process.ok()) << process.error().to_string();
  EXPECT_EQ(wait_for_exit(*process).to_string(), "exit 3");
  EXPECT_EQ(process->poll()->code, 3) << "and again";
}

TEST_F(ProcessTest, ASignalEndsIt) {
  auto process = Process::spawn(spec({"wait"}));
  ASSERT_TRUE(process.ok());
  EXPECT_FALSE(process->poll().has_value());
  process->signal(SIGTERM);
  EXPECT_EQ(wait_for_exit(*process).to_string(), "signal 15 (Terminated)");
}

TEST_F(ProcessTest, AMissingOrPlainFileIsNotFound) {
  auto missing = Process::spawn({.binary = "/nonexistent/engine", .args = {}});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("/nonexistent/engine"));
  std::ofstream(log_path_) << "no execute permission";
  auto plain = Process::spawn({.binary = log_path_, .args = {}});
  ASSERT_FALSE(plain.ok());
  EXPECT_EQ(plain.error().code, Code::kNotFound);
}

TEST_F(ProcessTest, AFileThatIsNoProgramIsAnErrorNotAChild) {
  const std::string path = log_path_ + ".bin";
  std::ofstream(path) << "not a program";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  EXPECT_FALSE(Process::spawn({.binary = path, .args = {}}).ok());
  std::filesystem::remove(path);
}

TEST_F(ProcessTest, OutputIsAppendedToTheLog) {
  std::ofstream(log_path_) << "before\n";
  auto with_value = spec({"environment", "KANTHA_TEST_VALUE"});
  with_value.environment = {{"KANTHA_TEST_VALUE", "a=b c"}};
  EXPECT_EQ(output_of(with_value), "before\na=b c\n");
}

TEST_F(ProcessTest, TheParentsEnvironmentIsInherited) {
  ::setenv("KANTHA_TEST_INHERITED", "yes", 1);
  EXPECT_EQ(output_of(spec({"environment", "KANTHA_TEST_INHERITED"})), "yes\n");
  ::unsetenv("KANTHA_TEST_INHERITED");
}

TEST_F(ProcessTest, OnlyTheNamedDescriptorsArrive) {
  // Without O_CLOEXEC, so that only the closing in the child keeps it out.
  const int stray = ::open("/dev/null", O_RDONLY);
  const int high = ::fcntl(stray, F_DUPFD, 100);
  auto listing = spec({"descriptors"});
  listing.inherit = {{stray, 5}};
  const std::string text = output_of(listing);
  // 0, 1, 2, the one that was asked for, and the lifeline.
  EXPECT_EQ(text, "fd=0\nfd=1\nfd=2\nfd=5\nfd=6\n");
  ::close(stray);
  ::close(high);
}

TEST_F(ProcessTest, DescriptorsMayTradePlaces) {
  std::array<int, 2> one;
  std::array<int, 2> two;
  ASSERT_EQ(::pipe2(one.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(two.data(), O_CLOEXEC), 0);
  auto writer = spec({"write", std::to_string(one[1]), "swapped"});
  writer.inherit = {{one[1], two[1]}, {two[1], one[1]}};
  output_of(writer);
  std::array<char, 16> text{};
  ASSERT_EQ(::read(two[0], text.data(), text.size()), 7);
  EXPECT_STREQ(text.data(), "swapped");
  for (const int fd : {one[0], one[1], two[0], two[1]}) ::close(fd);
}

TEST_F(ProcessTest, ItRunsOnTheCpusThatAreNamed) {
  cpu_set_t ours;
  CPU_ZERO(&ours);
  ASSERT_EQ(::sched_getaffinity(0, sizeof ours, &ours), 0);
  int first = 0;
  while (!CPU_ISSET(first, &ours)) ++first;
  ProcessSpec pinned = spec({"cpus"});
  pinned.cpus = {first, -1, CPU_SETSIZE};
  Result<Process> child = Process::spawn(pinned);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(wait_for_exit(*child).code, 0);
  EXPECT_EQ(log_text(), "cpus=1\n");
}

TEST_F(ProcessTest, ItLeadsItsOwnGroupOnlyWhenAsked) {
  auto own = Process::spawn(spec({"group"}));
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(wait_for_exit(*own).code, 0);
  auto shared_spec = spec({"group"});
  shared_spec.own_group = false;
  auto shared = Process::spawn(shared_spec);
  ASSERT_TRUE(shared.ok());
  EXPECT_EQ(wait_for_exit(*shared).code, 1);
}

TEST_F(ProcessTest, DestroyingARunningChildKillsAndReapsIt) {
  pid_t pid = 0;
  {
    auto process = Process::spawn(spec({"wait"}));
    ASSERT_TRUE(process.ok());
    pid = process->pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST_F(ProcessTest, MovingKeepsTheChild) {
  auto first = Process::spawn(spec({"wait"}));
  ASSERT_TRUE(first.ok());
  Process second = std::move(*first);
  EXPECT_FALSE(second.poll().has_value());
  second.signal(SIGKILL);
  EXPECT_EQ(wait_for_exit(second).signal, SIGKILL);
}

/// False for a zombie too: it waits only for whoever inherited it.
bool is_alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return false;
  const auto paren = text.rfind(')');
  return paren != text.npos && paren + 2 < text.size() && text[paren + 2] != 'Z';
}

TEST_F(ProcessTest, AChildDiesWithAParentThatWasKilled) {
  auto parent = Process::spawn(spec({"orphan"}));
  ASSERT_TRUE(parent.ok());
  EXPECT_EQ(wait_for_exit(*parent).signal, SIGKILL);
  const std::string text = log_text();
  ASSERT_THAT(text, HasSubstr("pid="));
  const pid_t grandchild = std::stoi(text.substr(text.find("pid=") + 4));
  EXPECT_TRUE(wait_until([&] { return !is_alive(grandchild); }));
}

TEST_F(ProcessTest, AWatchedLifelineEndsTheChildWhenItsWriterCloses) {
  std::array<int, 2> line;
  ASSERT_EQ(::pipe2(line.data(), O_CLOEXEC), 0);
  // Started by hand, so that the death signal is not what ends it.
  const std::string binary = child_binary();
  const std::string variable = "KANTHA_LIFELINE_FD=" + std::to_string(line[0]);
  const char* argv[] = {binary.c_str(), "watch", nullptr};
  const char* envp[] = {variable.c_str(), nullptr};
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::fcntl(line[0], F_SETFD, 0);
    ::execve(binary.c_str(), const_cast<char**>(argv), const_cast<char**>(envp));
    ::_exit(1);
  }
  ::close(line[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, WNOHANG), 0);
  ::close(line[1]);
  EXPECT_TRUE(wait_until([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }));
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 125);
}

}  // namespace
}  // namespace kantha
