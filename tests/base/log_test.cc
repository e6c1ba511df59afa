#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace kantha {
namespace {

using testing::MatchesRegex;

/// What `work` writes to stderr.
template <class Work>
std::string logged(Work work) {
  testing::internal::CaptureStderr();
  work();
  return testing::internal::GetCapturedStderr();
}

class LogTest : public testing::Test {
 protected:
  void SetUp() override { set_log_program("test"); }
  void TearDown() override {
    set_log_level(LogLevel::kInfo);
    set_log_program("kantha");
  }
};

TEST_F(LogTest, ALineHasTimeLevelProgramMessageAndFields) {
  const std::string line =
      logged([] { log_info("engine ready", {{"pod", "a-0"}, {"load_ms", 312}, {"warm", true}}); });
  EXPECT_THAT(line, MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
                                 "\\.[0-9]{3}Z INFO test engine ready pod=a-0 load_ms=312 "
                                 "warm=true\n"));
}

TEST_F(LogTest, ValuesThatWouldBreakTheLineAreQuoted) {
  const std::string line = logged([] {
    log_warn("bad", {{"blank", "a b"},
                     {"quote", std::string("a\"b\\")},
                     {"break", "a\nb"},
                     {"escape", "\x1b[2J"},
                     {"empty", ""},
                     {"accent", "é"}});
  });
  EXPECT_THAT(line, testing::EndsWith(R"(WARN test bad blank="a b" quote="a\"b\\" break="a\nb" )"
                                      R"(escape="\x1b[2J" empty="" accent=é)"
                                      "\n"));
}

TEST_F(LogTest, LinesBelowTheLevelAreDropped) {
  EXPECT_EQ(logged([] { log_debug("hidden"); }), "");
  set_log_level(LogLevel::kError);
  EXPECT_EQ(logged([] { log_warn("hidden"); }), "");
  EXPECT_NE(logged([] { log_error("shown"); }), "");
  set_log_level(LogLevel::kDebug);
  EXPECT_NE(logged([] { log_debug("shown"); }), "");
}

TEST_F(LogTest, LevelsAreReadByName) {
  LogLevel level = LogLevel::kInfo;
  EXPECT_TRUE(parse_log_level("error", level));
  EXPECT_EQ(level, LogLevel::kError);
  EXPECT_TRUE(parse_log_level("debug", level));
  EXPECT_EQ(level, LogLevel::kDebug);
  EXPECT_FALSE(parse_log_level("loud", level));
  EXPECT_EQ(level, LogLevel::kDebug);
}

TEST_F(LogTest, LinesOfSeveralThreadsDoNotMix) {
  constexpr int kThreads = 4;
  constexpr int kLines = 200;
  const std::string text = logged([] {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < kLines; ++i) log_info("line", {{"text", std::string(100, 'x')}});
      });
    }
  });
  const std::string tail = " INFO test line text=" + std::string(100, 'x');
  int lines = 0;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    EXPECT_EQ(text.substr(begin + 24, end - begin - 24), tail);
    ++lines;
  }
  EXPECT_EQ(lines, kThreads * kLines);
}

}  // namespace
}  // namespace kantha
