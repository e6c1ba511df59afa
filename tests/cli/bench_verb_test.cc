#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/net/task.h"

#include "base/process.h"
#include "tests/bench/load/scripted_server.h"

/// `kantha bench` as a user meets it, against servers inside this process.
namespace kantha::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

struct Ended {
  int status = -1;
  std::string output;  ///< stdout and stderr
};

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class BenchVerbTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  Process start(std::vector<std::string> args) const {
    const char* bin = std::getenv("KANTHA_BIN_DIR");
    args.insert(args.begin(), "bench");
    ProcessSpec spec{.binary = std::string(bin == nullptr ? "." : bin) + "/kantha", .args = args};
    spec.log_path = root_ + "/out";
    return Process::spawn(spec).value();
  }

  /// Lets the servers work until the program has ended.
  Ended wait(Process process) {
    for (const TimePoint end = system_clock().now() + 60s; system_clock().now() < end;) {
      context_.restart();
      context_.run_for(5ms);
      const auto exit = process.poll();
      if (exit) return {exit->signal == 0 ? exit->code : -exit->signal, text_of(root_ + "/out")};
    }
    ADD_FAILURE() << "kantha bench has not ended: " << text_of(root_ + "/out");
    return {};
  }
  Ended run(std::vector<std::string> args) { return wait(start(std::move(args))); }

  std::string root_ = testing::TempDir() + "kantha_bench_" + std::to_string(getpid());
  boost::asio::io_context context_{1};
};

TEST_F(BenchVerbTest, PrintsATableAndWritesJson) {
  bench::ScriptedServer server(context_, {.chunk_every_ms = 1});
  const Ended ended = run({"--url", server.url(), "--requests", "6", "--concurrency", "2", "--json",
                           root_ + "/r.json", "--html", root_ + "/r.html", "--seed", "7"});
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("6 ok, 0 failed"));
  EXPECT_THAT(ended.output, HasSubstr("seed 7"));
  const Result<Json> json = parse_json(text_of(root_ + "/r.json"));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["schema"], "kantha.bench/1");
  EXPECT_EQ((*json)["options"]["seed"], 7);
  EXPECT_THAT(text_of(root_ + "/r.html"), HasSubstr("<svg"));
}

TEST_F(BenchVerbTest, BadFlagsAreUsageErrorsThatNameThem) {
  struct Case {
    std::vector<std::string> args;
    const char* says;
  };
  std::ofstream(root_ + "/bad.jsonl") << "{\"at_ms\": 1}\n";
  const std::vector<Case> cases = {
      {{"--workload", "poems"}, "known: random, sharegpt, shared-prefix, long-prompt, mixed"},
      {{"--rate", "2", "--concurrency", "3"}, "--concurrency and --rate"},
      {{"--concurrency", "0"}, "--concurrency"},
      {{"--rate", "nan"}, "--rate"},
      {{"--duration", "-1"}, "--duration"},
      {{"--requests", "many"}, "--requests"},
      {{"--slo", "speed:9"}, "--slo: expected ttft"},
      {{"--api", "grpc"}, "--api: expected chat or completions"},
      {{"--url", "nonsense"}, "--url"},
      {{"--input-tokens", "9:1"}, "--input-tokens"},
      {{"--trace", root_ + "/none"}, "none: No such file"},
      {{"--trace", root_ + "/bad.jsonl"}, "line 1: prompt_tokens"},
      {{"--trace", root_}, "--trace"},
  };
  for (const Case& c : cases) {
    fs::remove(root_ + "/out");
    const Ended ended = run(c.args);
    EXPECT_EQ(ended.status, 2) << c.says << ": " << ended.output;
    EXPECT_THAT(ended.output, HasSubstr(c.says));
  }
}

TEST_F(BenchVerbTest, ADeadServerFailsWithAReport) {
  const Ended ended = run({"--url", "http://127.0.0.1:1", "--json", root_ + "/r.json"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.output, HasSubstr("NOT MEASURED"));
  EXPECT_TRUE(parse_json(text_of(root_ + "/r.json")).ok());
}

TEST_F(BenchVerbTest, AServerThatAlwaysFailsFailsWithAReport) {
  bench::ScriptedServer server(context_, {.status = 500, .body = "<html>oops"});
  const Ended ended = run({"--url", server.url(), "--concurrency", "8"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.output, HasSubstr("http_500"));
  EXPECT_THAT(ended.output, HasSubstr("INVALID: no request succeeded"));
  EXPECT_THAT(ended.output, Not(HasSubstr("nan")));
}

TEST_F(BenchVerbTest, FiguresThatMustNotBeUsedHaveAnExitStatusOfTheirOwn) {
  bench::ScriptedServer server(context_, {.chunk_every_ms = 20});
  const Ended ended = run({"--url", server.url(), "--rate", "200", "--requests", "40", "--warmup",
                           "0", "--output-tokens", "20", "--in-flight-max", "2"});
  EXPECT_EQ(ended.status, 3) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("were not sent"));
}

TEST_F(BenchVerbTest, CtrlCEndsWithAReport) {
  bench::ScriptedServer server(context_, {.chunk_every_ms = 2});
  Process process = start({"--url", server.url(), "--requests", "100000"});
  for (int i = 0; i < 6000 && server.requests().size() < 10; ++i) context_.run_for(5ms);
  process.signal(SIGINT);
  const Ended ended = wait(std::move(process));
  EXPECT_EQ(ended.status, 130) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("interrupted"));
  EXPECT_THAT(ended.output, HasSubstr("TTFT ms"));
}

TEST_F(BenchVerbTest, TheSecondCtrlCDoesNotWait) {
  bench::RawServer server(context_, {"", "", false});
  Process process = start({"--url", server.url()});
  for (int i = 0; i < 6000 && text_of(root_ + "/out").find("asking") == std::string::npos; ++i) {
    context_.run_for(5ms);
  }
  process.signal(SIGINT);
  for (int i = 0; i < 6000 && text_of(root_ + "/out").find("ending") == std::string::npos; ++i) {
    context_.run_for(5ms);
  }
  process.signal(SIGINT);
  const TimePoint before = system_clock().now();
  EXPECT_EQ(wait(std::move(process)).status, -SIGINT);
  EXPECT_LT(system_clock().now() - before, 8s);
}

}  // namespace
}  // namespace kantha::cli
