#include "engine/serve/engine_parent.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <thread>

#include "base/whole_file.h"
#include "tests/base/net/loopback.h"

namespace kantha::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A parent over scripted engines: a shell script that writes its life into a journal. It runs
/// here, on the main thread; the test's own part is a thread that sends signals to the process.
class EngineParentTest : public testing::Test {
 protected:
  EngineParentTest() {
    options_.binary = folder_.file("engine");
    options_.config_path = folder_.file("engine.json");
    options_.arguments = {"--config", options_.config_path};
    options_.policy.restart_pause = milliseconds(50);
    options_.policy.leave_grace = milliseconds(300);
    options_.policy.kill_margin = milliseconds(500);
    options_.check = [this]() -> Result<ParentFacts> {
      if (read_config().find("bad") != std::string::npos) {
        ++bad_files_;
        return invalid_argument("a bad file");
      }
      return ParentFacts{.drain_timeout = milliseconds(500)};
    };
    // "engine --restarts N --last-end HOW --config PATH": logs "start N <content>", obeys words in
    // the content.
    std::ofstream(options_.binary) << R"sh(#!/bin/sh
journal=$(dirname "$6")/journal
content=$(cat "$6")
trap 'echo "term $2" >> "$journal"; exit 0' TERM
echo "start $2 $content" >> "$journal"
echo "$4" >> "$(dirname "$6")/ends"
case "$content" in
  *crash*) exit 7 ;;
  *refuse*) exit 2 ;;
  *asked*) exit 0 ;;
  *deaf*) trap '' TERM ;;
  *litter*) sh -c 'sh -c "echo orphan \$\$ >> $0; exec sleep 0.1" &' "$journal" ;;
esac
while :; do sleep 0.05; done
)sh";
    ::chmod(options_.binary.c_str(), 0755);
  }

  std::string read_config() const { return read_whole_file(options_.config_path, 1000).value(); }
  void configure(const std::string& text) {
    ASSERT_TRUE(replace_whole_file(options_.config_path, text).ok());
  }
  std::vector<std::string> journal() const {
    std::ifstream file(folder_.file("journal"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  bool has(const std::string& line) const {
    const auto lines = journal();
    return std::ranges::find(lines, line) != lines.end();
  }
  static void sigterm() { ::kill(::getpid(), SIGTERM); }

  /// Runs the parent beside `test`; gives the exit status.
  int run(std::function<void()> test) {
    EngineParent parent(options_, system_clock());
    std::thread other(std::move(test));
    const int status = parent.run();
    other.join();
    return status;
  }

  net::TempDir folder_;
  ParentOptions options_;
  std::atomic<int> bad_files_ = 0;
};

TEST_F(EngineParentTest, WaitsForTheFileStartsTheEngineAndPassesSigtermOn) {
  TimePoint asked;
  const int status = run([&] {
    configure("one");
    EXPECT_TRUE(net::eventually([this] { return has("start 0 one"); }));
    asked = system_clock().now();
    sigterm();
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(journal(), (std::vector<std::string>{"start 0 one", "term 0"}));
  EXPECT_GE(system_clock().now() - asked, options_.policy.leave_grace);
}

TEST_F(EngineParentTest, ACrashedEngineIsStartedAgainAndToldHowOften) {
  configure("x");
  const int status = run([&] {
    EXPECT_TRUE(net::eventually([this] { return has("start 0 x"); }));
    configure("crash");  // the next ones crash, up to the breaker
  });
  EXPECT_EQ(status, 1);
  const std::vector<std::string> expected = {"start 0 x", "term 0", "start 1 crash",
                                             "start 2 crash", "start 3 crash"};
  EXPECT_EQ(journal(), expected);
  EXPECT_EQ(read_whole_file(folder_.file("ends"), 1000).value(),
            "none\nwas_ended\ncrashed\ncrashed\n");
}

TEST_F(EngineParentTest, ARefusedFileIsFollowedByTheNextOne) {
  configure("refuse");
  const int status = run([&] {
    EXPECT_TRUE(net::eventually([this] { return has("start 0 refuse"); }));
    configure("good");
    EXPECT_TRUE(net::eventually([this] { return has("start 1 good"); }));
    sigterm();
  });
  EXPECT_EQ(status, 0);
}

TEST_F(EngineParentTest, AFileThatFailsTheCheckLeavesTheEngineAlone) {
  configure("good");
  run([&] {
    EXPECT_TRUE(net::eventually([this] { return has("start 0 good"); }));
    configure("bad");
    EXPECT_TRUE(net::eventually([this] { return bad_files_ > 0; }));
    configure("better");
    EXPECT_TRUE(net::eventually([this] { return has("start 1 better"); }));
    sigterm();
  });
  EXPECT_FALSE(has("start 1 bad"));
}

TEST_F(EngineParentTest, AnEngineThatIgnoresSigtermIsKilled) {
  configure("deaf");
  const int status = run([&] {
    EXPECT_TRUE(net::eventually([this] { return has("start 0 deaf"); }));
    sigterm();
  });
  EXPECT_EQ(status, 1);
}

TEST_F(EngineParentTest, WhatTheEngineLeavesBehindIsReaped) {
  configure("litter");
  run([&] {
    pid_t orphan = 0;
    EXPECT_TRUE(net::eventually([&] {
      for (const std::string& line : journal()) {
        if (line.starts_with("orphan ")) orphan = std::stoi(line.substr(7));
      }
      return orphan != 0;
    }));
    // A zombie can still be signalled.
    EXPECT_TRUE(net::eventually([&] { return ::kill(orphan, 0) != 0 && errno == ESRCH; }));
    sigterm();
  });
}

TEST_F(EngineParentTest, ASilentEngineIsKilledAndReplaced) {
  options_.policy.silence_timeout = milliseconds(300);
  options_.check = [this]() -> Result<ParentFacts> {
    return ParentFacts{.drain_timeout = milliseconds(500),
                       .endpoint = net::Endpoint{.unix_path = folder_.file("nobody.sock")}};
  };
  configure("mute");
  EXPECT_EQ(run([] {}), 1) << "three silent engines open the breaker";
  EXPECT_TRUE(has("start 2 mute"));
}

}  // namespace
}  // namespace kantha::serve
