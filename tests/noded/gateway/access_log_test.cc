#include "noded/gateway/access_log.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.h"

namespace kantha::noded {
namespace {

AccessEntry entry() {
  AccessEntry out;
  out.trace.request_id = "r-1";
  out.tenant = "blue";
  out.method = "POST";
  out.route = "/v1/completions";
  out.model = "m";
  out.status = 200;
  out.ended_by = "server";
  out.total = std::chrono::microseconds(1500);
  return out;
}

Json line_of(const AccessEntry& given) {
  const std::string line = access_line(given, WallTime(std::chrono::milliseconds(1500)));
  EXPECT_TRUE(line.ends_with("\n"));
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line";
  return *parse_json(line);
}

TEST(AccessLine, SaysWhoWhatAndHowLong) {
  AccessEntry given = entry();
  given.prompt_tokens = 10;
  given.completion_tokens = 5;
  given.first_byte = std::chrono::milliseconds(12);
  given.resumes = 1;
  given.streamed = true;
  const Json line = line_of(given);
  EXPECT_EQ(line["ts"], "1970-01-01T00:00:01.500Z");
  EXPECT_EQ(line["request_id"], "r-1");
  EXPECT_EQ(line["tenant"], "blue");
  EXPECT_EQ(line["route"], "/v1/completions");
  EXPECT_EQ(line["status"], 200);
  EXPECT_EQ(line["prompt_tokens"], 10);
  EXPECT_EQ(line["completion_tokens"], 5);
  EXPECT_EQ(line["ttft_ms"], 12.0);
  EXPECT_EQ(line["duration_ms"], 1.5);
  EXPECT_EQ(line["resumes"], 1);
  EXPECT_EQ(line["stream"], true);
  EXPECT_FALSE(line.contains("trace_id"));
  EXPECT_FALSE(line.contains("refusal"));
}

TEST(AccessLine, ForeignTextCannotBreakItOrMakeItLong) {
  AccessEntry given = entry();
  given.model = "a\"\n{}\xff" + std::string(100'000, '\x01');
  given.method = std::string(5000, 'M');
  given.target = std::string(5000, 't');
  const std::string line = access_line(given, WallTime());
  EXPECT_LE(line.size(), 4096U);
  EXPECT_EQ(line_of(given)["model"].get<std::string>().substr(0, 5), "a\"\n{}");
}

class AccessLogTest : public testing::Test {
 protected:
  AccessLogTest() {
    char pattern[] = "/tmp/kantha-log-XXXXXX";
    folder_ = mkdtemp(pattern);
  }
  ~AccessLogTest() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(AccessLogTest, IsOffUntilTold) {
  for (const char* where : {"", "off"}) {
    AccessLog log;
    EXPECT_TRUE(log.open(where).ok());
    EXPECT_FALSE(log.is_on());
    log.write(entry(), WallTime());
    EXPECT_EQ(log.dropped(), 0);
  }
}

TEST_F(AccessLogTest, AppendsToAFile) {
  const std::string path = folder_ + "/access.log";
  for (int run = 0; run < 2; ++run) {
    AccessLog log;
    ASSERT_TRUE(log.open(path).ok());
    log.write(entry(), WallTime());
  }
  std::ifstream file(path);
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    EXPECT_TRUE(parse_json(line).ok()) << line;
  }
  EXPECT_EQ(lines, 2);
}

TEST_F(AccessLogTest, AFileThatCannotBeOpenedIsNamed) {
  AccessLog log;
  const Status opened = log.open(folder_ + "/absent/access.log");
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("--access-log " + folder_), std::string::npos);
}

TEST_F(AccessLogTest, AReaderThatHangsCostsLinesAndNoTime) {
  const std::string path = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::fstream reader(path);  // both ends, so that opening waits for nobody
  AccessLog log;
  ASSERT_TRUE(log.open(path).ok());
  for (int i = 0; i < 10'000; ++i) log.write(entry(), WallTime());
  EXPECT_GT(log.dropped(), 5'000);
  EXPECT_LT(log.dropped(), 10'000) << "what the pipe could take is there";
}

}  // namespace
}  // namespace kantha::noded
