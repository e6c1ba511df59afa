#include "noded/gateway/stream_ledger.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/clock.h"
#include "base/net/sse.h"
#include "engine/api/openai_error.h"
#include "tests/noded/gateway/scripted_stream.h"

namespace kantha::noded {
namespace {

constexpr char kGivesUp[] = "the engine is stopping";

std::vector<ScriptedStream> every_kind() {
  std::vector<ScriptedStream> kinds;
  for (const api::ApiKind api : {api::ApiKind::kChat, api::ApiKind::kCompletion}) {
    for (const bool usage : {false, true}) {
      for (const bool logprobs : {false, true}) {
        kinds.push_back({.api = api, .logprobs = logprobs, .usage = usage});
      }
    }
  }
  kinds.push_back({.usage = true, .calls = true});
  return kinds;
}

/// The same answer by an engine that came later.
ScriptedStream next_of(ScriptedStream engine) {
  engine.id = "chatcmpl-next";
  return engine;
}

/// Goes on at the next engine, to the end.
std::string rest_of(StreamLedger& ledger, const ScriptedStream& engine) {
  ledger.next_engine();
  if (const auto end = ledger.missing_end()) return *end;
  EXPECT_TRUE(ledger.can_continue());
  std::string rest = ledger.feed(next_of(engine).bytes(ledger.token_ids()));
  EXPECT_TRUE(ledger.finished());
  return rest;
}

TEST(StreamLedger, GivesTheClientWhatAnEngineWithoutTokenIdsWouldSend) {
  for (ScriptedStream engine : every_kind()) {
    StreamLedger ledger(/*shows_token_ids=*/false);
    const std::string seen = ledger.feed(engine.bytes());
    engine.token_ids = false;
    EXPECT_EQ(seen, engine.bytes());
    EXPECT_TRUE(ledger.finished());
    EXPECT_EQ(ledger.token_ids().size(), static_cast<std::size_t>(kScriptedTokens));
    EXPECT_EQ(ledger.seed(), "9007199254740993");
    EXPECT_EQ(ledger.prompt_tokens(), kScriptedPrompt);
  }
}

TEST(StreamLedger, GivesAClientThatAskedForTokenIdsEveryByteOfTheEngine) {
  for (const ScriptedStream& engine : every_kind()) {
    StreamLedger ledger(/*shows_token_ids=*/true);
    EXPECT_EQ(ledger.feed(engine.bytes()), engine.bytes());
  }
}

TEST(StreamLedger, DoesNotMindHowTheBytesAreCut) {
  for (const ScriptedStream& engine : every_kind()) {
    const std::string bytes = engine.bytes();
    const std::string whole = StreamLedger(false).feed(bytes);
    for (std::size_t size = 1; size < bytes.size(); size = size < 8 ? size + 1 : size * 2) {
      StreamLedger ledger(false);
      std::string seen;
      for (std::size_t at = 0; at < bytes.size(); at += size) {
        seen += ledger.feed(bytes.substr(at, size));
      }
      ASSERT_EQ(seen, whole) << "pieces of " << size;
    }
  }
}

TEST(StreamLedger, AnEngineThatEndsAtAnyByteIsNotSeenByTheClient) {
  for (const ScriptedStream& engine : every_kind()) {
    const std::string bytes = engine.bytes();
    for (const bool shows_ids : {false, true}) {
      const std::string whole = StreamLedger(shows_ids).feed(bytes);
      for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
        StreamLedger ledger(shows_ids);
        std::string seen = ledger.feed(bytes.substr(0, cut));
        if (!ledger.finished()) seen += rest_of(ledger, engine);
        ASSERT_EQ(as_first(seen), whole) << "cut at " << cut;
      }
    }
  }
}

TEST(StreamLedger, NorAreTwoEngines) {
  const ScriptedStream engine{.logprobs = true, .usage = true};
  const std::string bytes = engine.bytes();
  const std::string whole = StreamLedger(true).feed(bytes);
  for (std::size_t first = 0; first < bytes.size(); first += 11) {
    for (std::size_t second = 0; second < bytes.size(); second += 37) {
      StreamLedger ledger(true);
      std::string seen = ledger.feed(bytes.substr(0, first));
      ledger.next_engine();
      if (!ledger.missing_end()) {
        const std::string more = next_of(engine).bytes(ledger.token_ids());
        seen += ledger.feed(more.substr(0, second));
      }
      if (!ledger.finished()) seen += rest_of(ledger, engine);
      ASSERT_EQ(as_first(seen), whole) << first << ", " << second;
    }
  }
}

TEST(StreamLedger, KeepsTheErrorEventOfAnEngineThatEndsToItself) {
  const ScriptedStream engine{.usage = true};
  const std::string whole = StreamLedger(false).feed(engine.bytes());
  const std::vector<std::string> events = engine.events();
  for (std::size_t before = 0; before < events.size(); ++before) {
    StreamLedger ledger(false);
    std::string bytes;
    for (std::size_t i = 0; i < before; ++i) bytes += events[i];
    bytes += net::sse_data(api::error_body(unavailable(kGivesUp)));
    std::string seen = ledger.feed(bytes);
    EXPECT_TRUE(ledger.engine_gave_up());
    EXPECT_EQ(seen.find(kGivesUp), seen.npos);
    EXPECT_EQ(ledger.feed("data: more\n\n"), "") << "after its error an engine has nothing to say";
    seen += rest_of(ledger, engine);
    EXPECT_EQ(as_first(seen), whole);
  }
}

TEST(StreamLedger, HearsOfAnotherPodWhetherItsEngineWasEnded) {
  for (const std::string code : {"null", R"("engine_was_ended")"}) {
    StreamLedger ledger(false);
    ledger.feed(net::sse_data(R"({"error":{"message":"no engine","type":)"
                              R"("service_unavailable_error","param":null,"code":)" +
                              code + "}}"));
    EXPECT_TRUE(ledger.engine_gave_up());
    EXPECT_EQ(ledger.engine_was_ended(), code != "null");
    ledger.next_engine();
    EXPECT_FALSE(ledger.engine_was_ended());
  }
}

TEST(StreamLedger, PassesAnErrorThatWouldComeAgain) {
  for (const Error& error : {internal_error("the logits are not numbers"),
                             Error{.code = Code::kDeadlineExceeded, .message = "late"}}) {
    StreamLedger ledger(false);
    const std::string event = net::sse_data(api::error_body(error));
    EXPECT_EQ(ledger.feed(event), event);
    EXPECT_TRUE(ledger.finished());
    EXPECT_FALSE(ledger.engine_gave_up());
  }
}

TEST(StreamLedger, PassesComments) {
  StreamLedger ledger(false);
  EXPECT_EQ(ledger.feed(": wai"), "");
  EXPECT_EQ(ledger.feed("ting\n\n: x\n\n"), ": waiting\n\n: x\n\n");
  EXPECT_TRUE(ledger.can_continue());
}

TEST(StreamLedger, ReadsTheSameChunksSpeltOtherwise) {
  for (const ScriptedStream& engine : every_kind()) {
    const std::string whole = StreamLedger(false).feed(engine.bytes());
    StreamLedger ledger(false);
    std::string seen;
    net::SseReader payloads;
    for (const std::string& payload : payloads.feed(engine.bytes())) {
      if (payload == "[DONE]") break;
      // Keys in alphabetical order, and blanks between.
      seen += ledger.feed(net::sse_data(replaced(Json::parse(payload).dump(1), "\n", " ")));
    }
    EXPECT_TRUE(ledger.can_continue());
    EXPECT_EQ(ledger.token_ids().size(), static_cast<std::size_t>(kScriptedTokens));
    const auto expected = payloads.feed(whole);
    const auto got = payloads.feed(seen);
    ASSERT_EQ(got.size() + 1, expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(Json::parse(got[i]), Json::parse(expected[i]));
    }
  }
}

TEST(StreamLedger, WhatItDoesNotUnderstandPassesAndEndsItsPromise) {
  const char* events[] = {
      R"(data: {"id":"x","choices":[{"index":1,"text":"a"}],"kantha":{"token_ids":[1]}})",
      R"(data: {"id":"x","choices":[{"index":0,"text":"a","finish_reason":null}]})",
      R"(data: {"id":"x","choices":[],"kantha":{"token_ids":["a"]}})",
      "data: {\"id\"",
      "data: [1]",
      "data: ",
      "event: x\ndata: {}",
      "data:[DONE]"};
  for (const std::string event : events) {
    StreamLedger ledger(false);
    EXPECT_EQ(ledger.feed(event + "\n\n"), event + "\n\n");
    EXPECT_FALSE(ledger.can_continue()) << event;
  }
}

TEST(StreamLedger, HoldsNoMoreThanItsLimits) {
  StreamLedger ledger(false, {.event_bytes_max = 100, .tokens_max = 1});
  EXPECT_EQ(ledger.feed("data: " + std::string(94, 'x')), "");
  EXPECT_EQ(ledger.feed("y"), "data: " + std::string(94, 'x') + "y");
  EXPECT_TRUE(ledger.is_raw());
  EXPECT_EQ(ledger.feed("z\n\n"), "z\n\n");
  EXPECT_FALSE(ledger.can_continue());

  StreamLedger long_answer(false, {.tokens_max = 5});
  const std::string whole = long_answer.feed(ScriptedStream{}.bytes());
  EXPECT_EQ(whole, StreamLedger(false).feed(ScriptedStream{}.bytes()));
  EXPECT_FALSE(long_answer.can_continue());
}

TEST(StreamLedger, CostsLittlePerToken) {
  // A figure for people; the bound is wide enough for sanitizers on a busy machine.
  const ScriptedStream engine{.api = api::ApiKind::kCompletion};
  const std::vector<std::string> events = engine.events();
  constexpr int kRounds = 20'000;
  StreamLedger ledger(false);
  std::size_t bytes = 0;
  const TimePoint start = system_clock().now();
  for (int i = 0; i < kRounds; ++i) bytes += ledger.feed(events[0]).size();
  const std::chrono::duration<double, std::micro> spent = system_clock().now() - start;
  EXPECT_GT(bytes, 0U);
  RecordProperty("us_per_token", std::to_string(spent.count() / kRounds));
  std::printf("ledger: %.2f us a token\n", spent.count() / kRounds);
  EXPECT_LT(spent.count() / kRounds, 200);
}

}  // namespace
}  // namespace kantha::noded
