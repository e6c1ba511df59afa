#include "bench/load/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/net/sse.h"
#include "bench/load/request_body.h"
#include "tests/bench/load/scripted_server.h"

namespace kantha::bench {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct Setting {
  Duration timeout = 5s;
  bool is_stream = true;
  Api api = Api::kChat;
  int tokens = 5;
  Duration cancel_after = 0s;
};

net::Task<void> cancel_later(Duration after, std::shared_ptr<net::CancelSignal> cancel) {
  co_await net::sleep_for(after);
  cancel->cancel();
}

RequestLog ask(boost::asio::io_context& context, std::shared_ptr<net::HttpClient> client,
               const net::Endpoint& endpoint, const Setting& setting) {
  BenchOptions options;
  options.is_stream = setting.is_stream;
  options.api = setting.api;
  const auto cancel = std::make_shared<net::CancelSignal>();
  net::TaskGroup tasks(context.get_executor(), "cancel");
  if (setting.cancel_after > 0s) tasks.spawn(cancel_later(setting.cancel_after, cancel));
  RequestLog log = run_until_done(
      context, exchange(std::move(client), {.endpoint = endpoint, .timeout = setting.timeout},
                        prepare_request(options, "m", "one two three", setting.tokens),
                        system_clock().now(), cancel));
  while (tasks.running() > 0) context.run_one();
  return log;
}

RequestLog ask(boost::asio::io_context& context, const net::Endpoint& endpoint,
               const Setting& setting = {}) {
  return ask(context, std::make_shared<net::HttpClient>(context.get_executor()), endpoint, setting);
}

RequestLog ask_scripted(Script script, const Setting& setting = {}) {
  boost::asio::io_context context(1);
  ScriptedServer server(context, std::move(script));
  return ask(context, server.endpoint(), setting);
}

RequestLog ask_raw(RawServer::Answer answer, const Setting& setting = {}) {
  boost::asio::io_context context(1);
  RawServer server(context, std::move(answer));
  return ask(context, server.endpoint(), setting);
}

TEST(Exchange, TimesEveryChunkWithContentAndReadsUsage) {
  const RequestLog log = ask_scripted({.chunk_every_ms = 5});
  ASSERT_TRUE(log.ok()) << log.error;
  ASSERT_EQ(log.content_at.size(), 5U);
  EXPECT_GE(log.content_at[0], 5ms);
  for (std::size_t i = 1; i < 5; ++i) {
    EXPECT_GE(log.content_at[i] - log.content_at[i - 1], 2ms);
  }
  EXPECT_GE(log.ended, log.content_at.back());
  ASSERT_TRUE(log.usage.has_value());
  EXPECT_EQ(log.usage->prompt_tokens, 16);
  EXPECT_EQ(log.usage->output_tokens, 5);
  EXPECT_TRUE(log.has_end_mark);
}

TEST(Exchange, SpeaksBothApisStreamedAndWhole) {
  for (const Api api : {Api::kChat, Api::kCompletions}) {
    for (const bool is_stream : {true, false}) {
      const RequestLog log = ask_scripted({}, {.is_stream = is_stream, .api = api});
      EXPECT_TRUE(log.ok()) << log.error;
      EXPECT_EQ(log.usage->output_tokens, 5);
      EXPECT_EQ(log.content_at.empty(), !is_stream);
    }
  }
}

TEST(Exchange, CountsChunksThatCameInOneRead) {
  const RequestLog log = ask_scripted({.chunk_every_ms = 5, .repeat_chunks = 3}, {.tokens = 4});
  ASSERT_TRUE(log.ok()) << log.error;
  EXPECT_EQ(log.content_at.size(), 12U);
  EXPECT_EQ(log.coalesced, 8U);
}

TEST(Exchange, AStreamWithoutUsageOrEndMarkIsStillAnAnswer) {
  const RequestLog log = ask_scripted({.has_usage = false, .has_end_mark = false});
  EXPECT_TRUE(log.ok()) << log.error;
  EXPECT_FALSE(log.usage.has_value());
  EXPECT_FALSE(log.has_end_mark);
}

TEST(Exchange, AServerThatNeverEndsTheBodyAfterItsEndMarkHasAnswered) {
  const RequestLog log = ask_scripted({.stalls = true}, {.timeout = 20s});
  EXPECT_TRUE(log.ok()) << log.error;
  EXPECT_LT(log.ended, 10s);
}

TEST(Exchange, NamesWhatLyingServersDo) {
  struct Case {
    const char* name;
    Script script;
    Outcome outcome;
    const char* says;
  };
  const std::vector<Case> cases = {
      {"500 with an error object",
       {.status = 500, .body = R"({"error":{"message":"boom"}})"},
       Outcome::kStatus,
       "HTTP 500: boom"},
      {"429 with nothing", {.status = 429}, Outcome::kStatus, "HTTP 429: an empty body"},
      {"HTML", {.content_type = "text/html"}, Outcome::kMalformed, "no event stream but text/html"},
      {"events that are no JSON",
       {.extra_event = "<oops>"},
       Outcome::kMalformed,
       "no JSON: <oops>"},
      {"an error in the stream",
       {.extra_event = R"({"error":{"message":"out of blocks"}})"},
       Outcome::kError,
       "out of blocks"},
      {"cut in the middle",
       {.has_end_mark = false, .has_finish = false, .cuts = true},
       Outcome::kBroken,
       "connection"},
      {"an end without an end",
       {.has_usage = false, .has_end_mark = false, .has_finish = false},
       Outcome::kMalformed,
       "without a finish_reason"},
      {"nothing at all",
       {.has_usage = false, .chunks_max = 0},
       Outcome::kEmpty,
       "without any text"},
      {"far too many chunks", {.repeat_chunks = 50}, Outcome::kEndless, "more chunks than tokens"},
  };
  for (const Case& c : cases) {
    const RequestLog log = ask_scripted(c.script);
    EXPECT_EQ(outcome_name(log.outcome), outcome_name(c.outcome)) << c.name << ": " << log.error;
    EXPECT_THAT(log.error, HasSubstr(c.says)) << c.name;
    EXPECT_GT(log.ended, 0s) << c.name;
  }
}

TEST(Exchange, AWholeAnswerThatIsNoAnswerIsMalformed) {
  const RequestLog log = ask_scripted({.body = "<html>"}, {.is_stream = false});
  EXPECT_EQ(log.outcome, Outcome::kMalformed);
}

TEST(Exchange, HasADeadlineHoweverTheServerStalls) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
  const std::vector<std::pair<const char*, RawServer::Answer>> cases = {
      {"silence", {"", "", false}},
      {"half a head", {head, "", false}},
      {"a head and silence", {head + "\r\n", "", false}},
      {"a comment for ever", {head + "\r\n", ": still here\n\n", false}},
  };
  for (const auto& [name, answer] : cases) {
    const TimePoint before = system_clock().now();
    const RequestLog log = ask_raw(answer, {.timeout = 200ms});
    EXPECT_FALSE(log.ok()) << name;
    EXPECT_NE(log.outcome, Outcome::kCancelled) << name;
    EXPECT_LT(system_clock().now() - before, 5s) << name;
  }
}

TEST(Exchange, EndlessHeadersAndEventsAreCutOff) {
  RequestLog log =
      ask_raw({"HTTP/1.1 200 OK\r\n", "X-More: " + std::string(1000, 'x') + "\r\n", false});
  EXPECT_FALSE(log.ok());
  EXPECT_NE(log.outcome, Outcome::kTimeout) << log.error;
  log = ask_raw({"HTTP/1.1 200 OK\r\n\r\ndata: ", std::string(64u << 10, 'x'), false});
  EXPECT_FALSE(log.ok());
  EXPECT_NE(log.outcome, Outcome::kTimeout) << log.error;
}

TEST(Exchange, BytesThatAreNoHttpAreBroken) {
  for (const char* bytes : {"SSH-2.0-OpenSSH_9\r\n", "\r\n\r\n", "HTTP/1.1 abc\r\n\r\n"}) {
    const RequestLog log = ask_raw({bytes});
    EXPECT_FALSE(log.ok()) << bytes;
    EXPECT_FALSE(log.error.empty()) << bytes;
  }
}

TEST(Exchange, NobodyThereIsAConnectFailure) {
  boost::asio::io_context context(1);
  std::optional<net::Endpoint> endpoint;
  {
    ScriptedServer server(context, {});
    endpoint = server.endpoint();
  }
  EXPECT_EQ(ask(context, *endpoint).outcome, Outcome::kConnect);
}

/// An answer that keeps its connection, as far as it says.
RawServer::Answer answer_then(RawServer::Parting parting) {
  const std::string events =
      net::sse_data(R"({"choices":[{"delta":{"content":"a"},"finish_reason":"length"}]})") +
      net::sse_data("[DONE]");
  return {.first = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: " +
                   std::to_string(events.size()) + "\r\n\r\n" + events,
          .parting = std::move(parting)};
}

TEST(Exchange, ARequestThatMeetsTheSilentCloseOfAKeptConnectionIsSentAgainOnce) {
  boost::asio::io_context context(1);
  RawServer server(context, answer_then({.after_ms = 30}));
  const auto client = std::make_shared<net::HttpClient>(context.get_executor());
  for (int i = 0; i < 3; ++i) {
    const RequestLog log = ask(context, client, server.endpoint(), {});
    EXPECT_TRUE(log.ok()) << i << ": " << log.error;
    EXPECT_EQ(log.was_resent, i > 0) << i;
    EXPECT_EQ(server.connection_count(), i + 1);
    // The first try is a part of what the client saw.
    if (i > 0) EXPECT_GE(log.content_at.at(0) - log.sent, 30ms) << i;
  }
}

TEST(Exchange, OnlyASilentCloseOfAKeptConnectionIsForgiven) {
  struct Case {
    const char* name;
    RawServer::Parting parting;
    Duration timeout;
    Outcome outcome;
  };
  const std::vector<Case> cases = {
      {"a close after the first byte", {.bytes = "H"}, 5s, Outcome::kBroken},
      {"a close inside the body",
       {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\ndata: "},
       5s,
       Outcome::kBroken},
      {"silence", {.after_ms = 2000}, 100ms, Outcome::kTimeout},
  };
  for (const Case& c : cases) {
    boost::asio::io_context context(1);
    RawServer server(context, answer_then(c.parting));
    const auto client = std::make_shared<net::HttpClient>(context.get_executor());
    EXPECT_TRUE(ask(context, client, server.endpoint(), {}).ok()) << c.name;
    const RequestLog log = ask(context, client, server.endpoint(), {.timeout = c.timeout});
    EXPECT_EQ(outcome_name(log.outcome), outcome_name(c.outcome)) << c.name << ": " << log.error;
    EXPECT_FALSE(log.was_resent) << c.name;
    EXPECT_EQ(server.connection_count(), 1) << c.name;
  }
}

TEST(Exchange, ACloseOfAFreshConnectionIsAFailure) {
  boost::asio::io_context context(1);
  RawServer server(context, {});
  const RequestLog log = ask(context, server.endpoint());
  EXPECT_EQ(outcome_name(log.outcome), "broken") << log.error;
  EXPECT_FALSE(log.was_resent);
  EXPECT_EQ(server.connection_count(), 1);
}

TEST(Exchange, CanBeCancelledBeforeAndInsideTheAnswer) {
  const RequestLog early = ask_raw({"", "", false}, {.timeout = 60s, .cancel_after = 50ms});
  EXPECT_EQ(early.outcome, Outcome::kCancelled) << early.error;
  const RequestLog late = ask_scripted({.has_usage = false, .has_end_mark = false, .stalls = true},
                                       {.timeout = 60s, .cancel_after = 100ms});
  EXPECT_EQ(late.outcome, Outcome::kCancelled) << late.error;
}

TEST(Exchange, SendsTheKeyAndTheFields) {
  boost::asio::io_context context(1);
  ScriptedServer server(context, {});
  EXPECT_TRUE(ask(context, server.endpoint(), {.tokens = 7}).ok());
  const Json& body = server.requests().at(0);
  EXPECT_EQ(body["max_tokens"], 7);
  EXPECT_EQ(body["ignore_eos"], true);
  EXPECT_EQ(body["stream_options"]["include_usage"], true);
  EXPECT_EQ(body["messages"][0]["content"], "one two three");
  const net::HttpRequest request = request_to({.endpoint = {}, .api_key = "k"}, "GET", "/x");
  EXPECT_EQ(request.headers.find("Authorization"), "Bearer k");
}

}  // namespace
}  // namespace kantha::bench
