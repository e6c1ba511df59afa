#include "bench/load/bench_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/bench/load/scripted_server.h"

namespace kantha::bench {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;

class BenchRunTest : public testing::Test {
 protected:
  BenchReport run(std::vector<std::string> urls, BenchOptions options) {
    options.targets.clear();
    for (const std::string& url : urls) options.targets.push_back(parse_target(url).value());
    const Status complete = complete_options(options);
    EXPECT_TRUE(complete.ok()) << complete.error().message;
    BenchRun run(context_.get_executor(), options, [](const std::string&) {});
    return run_until_done(context_, run.run());
  }

  boost::asio::io_context context_{1};
};

BenchOptions small_load() {
  BenchOptions options;
  options.concurrency = 2;
  options.requests = 6;
  options.warmup = 2;
  options.timeout_s = 5;
  options.workload.input = LengthRange{40, 40};
  options.workload.output = LengthRange{4, 4};
  return options;
}

TEST_F(BenchRunTest, MeasuresAServer) {
  // Slow enough that a busy machine's delays between two lines are no 5 % of a request.
  ScriptedServer server(context_, {.chunk_every_ms = 20});
  const BenchReport report = run({server.url()}, small_load());
  const TargetReport& target = report.targets.at(0);
  EXPECT_TRUE(report.is_valid());
  EXPECT_EQ(target.facts.model, "first");
  EXPECT_EQ(target.all.ok, 6U);
  EXPECT_EQ(target.all.in_flight_peak, 2);
  EXPECT_DOUBLE_EQ(target.all.output_tokens->mean, 4);
  EXPECT_TRUE(target.all.output_tokens_per_s.has_value());
  EXPECT_EQ(target.server.prompt_tokens, 6);  // the fake counts its requests
}

TEST_F(BenchRunTest, PromptsHaveTheWantedTokensByTokenizeOrByUsage) {
  for (const bool has_tokenize : {true, false}) {
    ScriptedServer server(context_, {.has_tokenize = has_tokenize, .tokens_per_word = 3});
    const BenchReport report = run({server.url()}, small_load());
    const TargetReport& target = report.targets.at(0);
    EXPECT_EQ(target.facts.ratio.source, has_tokenize ? "/tokenize" : "usage");
    EXPECT_DOUBLE_EQ(target.facts.ratio.tokens_per_word, 3);
    EXPECT_DOUBLE_EQ(target.facts.ratio.tokens_beside, 10);
    EXPECT_NEAR(target.all.input_tokens->mean, 40, 1.5);
  }
}

TEST_F(BenchRunTest, AServerThatTellsNothingIsMeasuredAllTheSame) {
  ScriptedServer server(context_,
                        {.has_usage = false, .has_tokenize = false, .has_metrics = false});
  const BenchReport report = run({server.url()}, small_load());
  const TargetReport& target = report.targets.at(0);
  EXPECT_EQ(target.all.ok, 6U);
  EXPECT_FALSE(target.all.output_tokens_per_s.has_value());
  EXPECT_FALSE(target.server.any());
  EXPECT_THAT(target.warnings, Contains(HasSubstr("prompt lengths are a guess")));
}

TEST_F(BenchRunTest, TargetsTakeTurnsAndGetTheSameRequestsInTheSameRounds) {
  ScriptedServer a(context_, {});
  ScriptedServer b(context_, {.chunk_every_ms = 3});
  BenchOptions options = small_load();
  options.rounds = 3;
  options.workload.seed = 5;
  const BenchReport report = run({"a=" + a.url(), "b=" + b.url()}, options);
  ASSERT_EQ(report.targets.size(), 2U);
  for (const TargetReport& target : report.targets) {
    ASSERT_EQ(target.rounds.size(), 3U);
    std::set<std::uint64_t> seen;
    for (const Phase& phase : target.phases) {
      EXPECT_EQ(phase.requests.size(), 2U);
      for (const RequestLog& log : phase.requests) seen.insert(log.index);
    }
    EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4, 5}));
  }
  const auto prompts = [](const ScriptedServer& server) {
    std::multiset<std::string> out;
    for (const Json& body : server.requests()) out.insert(dump_json(body));
    return out;
  };
  EXPECT_EQ(prompts(a), prompts(b));
  ASSERT_EQ(report.comparisons.size(), 1U);
  EXPECT_FALSE(report.comparisons[0].ratios.empty());
}

TEST_F(BenchRunTest, NoPromptIsSentTwice) {
  ScriptedServer server(context_, {});
  BenchOptions options = small_load();
  options.rounds = 2;
  run({server.url()}, options);
  std::set<std::string> prompts;
  for (const Json& body : server.requests()) prompts.insert(dump_json(body["messages"]));
  EXPECT_EQ(prompts.size(), server.requests().size());
}

TEST_F(BenchRunTest, RoundsThatEndByTimeSendDifferentRequests) {
  ScriptedServer server(context_, {.chunk_every_ms = 2});
  BenchOptions options = small_load();
  options.requests = 0;
  options.duration_s = 0.2;
  options.rounds = 2;
  const BenchReport report = run({server.url()}, options);
  std::set<std::uint64_t> seen;
  std::size_t count = 0;
  for (const Phase& phase : report.targets[0].phases) {
    for (const RequestLog& log : phase.requests) seen.insert(log.index), ++count;
  }
  EXPECT_GT(count, 4U);
  EXPECT_EQ(seen.size(), count);
}

TEST_F(BenchRunTest, AnOpenLoopSendsTheScheduleOfItsSeed) {
  ScriptedServer server(context_, {.chunk_every_ms = 2});
  BenchOptions options = small_load();
  options.concurrency = 0;
  options.rate_per_s = 100;
  options.requests = 20;
  options.workload.seed = 11;
  const BenchReport report = run({server.url()}, options);
  const TargetReport& target = report.targets.at(0);
  EXPECT_EQ(target.all.ok, 20U);
  EXPECT_TRUE(target.all.late_ms.has_value());
  const std::vector<Duration> due = poisson_arrivals(100, 20, {}, 11, 0);
  for (const RequestLog& log : target.phases.at(0).requests) EXPECT_EQ(log.due, due[log.index]);
}

TEST_F(BenchRunTest, ATraceIsReplayedWithItsLengths) {
  ScriptedServer server(context_, {});
  BenchOptions options = small_load();
  options.concurrency = 0;
  options.requests = 0;
  options.trace = parse_trace(R"({"at_ms":0,"prompt_tokens":30,"output_tokens":2})"
                              "\n"
                              R"({"at_ms":40,"prompt_tokens":60,"output_tokens":3})")
                      .value();
  const BenchReport report = run({server.url()}, options);
  const Phase& phase = report.targets.at(0).phases.at(0);
  ASSERT_EQ(phase.requests.size(), 2U);
  EXPECT_EQ(phase.requests[1].due, 40ms);
  EXPECT_EQ(phase.requests[1].usage->output_tokens, 3);
  EXPECT_NEAR(static_cast<double>(phase.requests[1].usage->prompt_tokens), 60, 1.5);
}

TEST_F(BenchRunTest, ADeadServerIsAPartOfTheReportAndTheOtherIsMeasured) {
  ScriptedServer alive(context_, {});
  BenchOptions options = small_load();
  options.rounds = 1;
  const BenchReport report = run({"dead=http://127.0.0.1:1", "alive=" + alive.url()}, options);
  EXPECT_THAT(report.targets[0].dead, HasSubstr("127.0.0.1:1"));
  EXPECT_EQ(report.targets[1].all.ok, 6U);
  EXPECT_TRUE(report.any_success());
  EXPECT_FALSE(report.is_valid());
}

TEST_F(BenchRunTest, AServerThatOnlyFailsIsReportedAndGivenUp) {
  ScriptedServer server(context_,
                        {.status = 500, .body = R"({"error":"boom"})", .has_metrics = false});
  BenchOptions options = small_load();
  options.requests = 100'000;
  const BenchReport report = run({server.url()}, options);
  EXPECT_FALSE(report.any_success());
  EXPECT_LT(report.targets[0].all.sent, 100U);
  EXPECT_EQ(report.targets[0].all.first_errors.at("http_500"), "HTTP 500: boom");
}

TEST_F(BenchRunTest, AServerWithoutModelsNeedsAName) {
  RawServer server(context_, {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"});
  const BenchReport report = run({server.url()}, small_load());
  EXPECT_THAT(report.targets[0].dead, HasSubstr("--model"));
}

TEST_F(BenchRunTest, AServerThatClosesKeptConnectionsSilentlyFailsNoRequest) {
  const std::string answer =
      R"({"choices":[{"message":{"content":"a"},"finish_reason":"length"}]})";
  RawServer server(context_, {.first = "HTTP/1.1 200 OK\r\nContent-Length: " +
                                       std::to_string(answer.size()) + "\r\n\r\n" + answer,
                              .parting = RawServer::Parting{}});
  BenchOptions options = small_load();
  options.model = "m";
  options.is_stream = false;
  const BenchReport report = run({server.url()}, options);
  const TargetReport& target = report.targets.at(0);
  EXPECT_EQ(target.all.ok, 6U);
  EXPECT_EQ(target.all.failed, 0U);
  // One kept connection for each of the two streams: none of the six is the first on its own.
  EXPECT_GE(target.all.resent, 4U);
}

net::Task<void> stop_after_twenty(BenchRun* run, const ScriptedServer* server) {
  for (int i = 0; i < 3000 && server->requests().size() < 20; ++i) co_await net::sleep_for(5ms);
  run->stop();
}

TEST_F(BenchRunTest, StopGivesWhatWasMeasured) {
  ScriptedServer server(context_, {.chunk_every_ms = 1});
  BenchOptions options = small_load();
  options.requests = 1'000'000;
  options.targets = {parse_target(server.url()).value()};
  ASSERT_TRUE(complete_options(options).ok());
  BenchRun run(context_.get_executor(), options, [](const std::string&) {});
  net::TaskGroup stops(context_.get_executor(), "stop");
  stops.spawn(stop_after_twenty(&run, &server));
  const BenchReport report = run_until_done(context_, run.run());
  EXPECT_TRUE(report.was_interrupted);
  EXPECT_GT(report.targets[0].all.ok, 0U);
  EXPECT_LT(report.targets[0].all.sent, 10'000U);
}

net::Task<void> stop_at_first(BenchRun* run, const ScriptedServer* server) {
  for (int i = 0; i < 6000 && server->requests().empty(); ++i) co_await net::sleep_for(5ms);
  run->stop();
}

TEST_F(BenchRunTest, StopAlsoEndsTheQuestionsBeforeTheLoad) {
  ScriptedServer server(context_, {.has_end_mark = false, .stalls = true});
  BenchOptions options = small_load();
  options.timeout_s = 60;
  options.targets = {parse_target(server.url()).value()};
  ASSERT_TRUE(complete_options(options).ok());
  BenchRun run(context_.get_executor(), options, [](const std::string&) {});
  net::TaskGroup stops(context_.get_executor(), "stop");
  stops.spawn(stop_at_first(&run, &server));
  const TimePoint before = system_clock().now();
  const BenchReport report = run_until_done(context_, run.run());
  EXPECT_LT(system_clock().now() - before, 30s);
  EXPECT_TRUE(report.was_interrupted);
  EXPECT_FALSE(report.any_success());
}

TEST_F(BenchRunTest, TwoNamesOfOneServerAreSaid) {
  ScriptedServer server(context_, {});
  const BenchReport report = run({"a=" + server.url(), "b=" + server.url() + "/v1"}, small_load());
  EXPECT_THAT(report.targets[1].warnings, Contains(HasSubstr("is the same server as a")));
}

TEST_F(BenchRunTest, PromptsThatDoNotFitTheWindowAreCutAndSaidToBe) {
  ScriptedServer server(context_, {});
  BenchOptions options = small_load();
  options.workload.input = LengthRange{9000, 9000};
  const BenchReport report = run({server.url()}, options);
  EXPECT_THAT(report.targets[0].warnings, Contains(HasSubstr("window of 8192 tokens")));
  EXPECT_LE(report.targets[0].all.input_tokens->max, 8192);
}

}  // namespace
}  // namespace kantha::bench
