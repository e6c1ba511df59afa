// Streams whose engines end, through a real door and real sockets.
#include <gtest/gtest.h>

#include <deque>

#include "base/json.h"
#include "base/net/sse.h"
#include "engine/api/openai_error.h"
#include "noded/gateway/stream_ledger.h"
#include "tests/noded/gateway/door_fixture.h"
#include "tests/noded/gateway/scripted_stream.h"

namespace kantha::noded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kBody[] = R"({"messages":[],"stream":true,"seed":9007199254740993})";

/// What one engine does with the request that comes to it.
struct Life {
  enum class End : std::uint8_t { kProper, kCut, kNoAnswer, kGivesUp, kRefuses, kHangs };
  End end = End::kProper;
  std::size_t bytes = std::string::npos;  ///< of its answer that it sends before that
  int status = 0;                         ///< of a refusal
};

/// Engines one after the other, all of which would say the same.
class StreamResume : public DoorFixture {
 protected:
  StreamResume() { policy_.retry_pause = milliseconds(1); }

  net::Task<void> live(net::HttpRequest request, net::ResponseWriter& writer) {
    bodies_.push_back(request.body);
    const Life life = lives_.empty() ? Life{} : lives_.front();
    if (!lives_.empty()) lives_.pop_front();
    if (life.end == Life::End::kNoAnswer) co_return writer.abort();
    if (life.end == Life::End::kRefuses) {
      net::HttpResponse refusal;
      refusal.status = life.status;
      Error error = life.status == 503 ? unavailable("the engine is stopping")
                                       : invalid_argument("no", "kantha.resume");
      refusal.body = api::error_body(error);
      EXPECT_TRUE((co_await writer.send(std::move(refusal))).ok());
      co_return;
    }
    co_await stream(life, std::move(request.body), writer);
  }

  net::Task<void> stream(Life life, std::string body, net::ResponseWriter& writer) {
    ScriptedStream engine = script_;
    if (bodies_.size() > 1) engine.id = "chatcmpl-next";
    std::string bytes;
    for (const std::string& event : engine.answer(body)) bytes += event;
    bytes.resize(std::min(bytes.size(), life.bytes));
    if (life.end == Life::End::kGivesUp) {
      bytes.resize(bytes.rfind("\n\n") == bytes.npos ? 0 : bytes.rfind("\n\n") + 2);
      bytes += net::sse_data(api::error_body(unavailable("the engine is stopping")));
    }
    net::Headers headers{{"Content-Type", "text/event-stream"}};
    static_cast<void>(co_await writer.start(200, headers));
    static_cast<void>(co_await writer.write(std::move(bytes)));
    if (life.end == Life::End::kCut) co_return writer.abort();
    for (int i = 0; life.end == Life::End::kHangs && i < 500 && !writer.client_gone(); ++i) {
      co_await net::sleep_for(milliseconds(10));
    }
    static_cast<void>(co_await writer.finish());
  }

  void run_lives(std::function<net::Task<void>()> test) {
    run([this](net::HttpRequest request,
               net::ResponseWriter& writer) { return live(std::move(request), writer); },
        std::move(test));
  }

  /// The stream as the client gets it from these engines.
  net::Task<std::string> ask(std::deque<Life> lives, std::string body) {
    lives_ = std::move(lives);
    bodies_.clear();
    const auto answer = co_await post("/v1/chat/completions", std::move(body));
    EXPECT_TRUE(answer.ok());
    if (!answer.ok()) co_return "";
    EXPECT_EQ(answer->status, 200);
    co_return answer->body;
  }

  /// The one error event at the end of a stream, or "".
  static std::string error_of(const std::string& stream) {
    net::SseReader reader;
    const std::vector<std::string> events = reader.feed(stream);
    EXPECT_EQ(stream.find("[DONE]\n"), stream.npos);
    int errors = 0;
    for (const std::string& event : events) errors += event.starts_with(R"({"error")") ? 1 : 0;
    EXPECT_EQ(errors, 1) << stream;
    const Json last = Json::parse(events.back());
    return last.contains("error") ? last["error"]["message"].get<std::string>() : "";
  }

  std::string undisturbed() const {
    ScriptedStream plain = script_;
    plain.token_ids = false;
    return plain.bytes();
  }

  ScriptedStream script_{.usage = true};
  std::deque<Life> lives_;
  std::vector<std::string> bodies_;  ///< that came to an engine
};

TEST_F(StreamResume, AStreamGoesOnWhereverItsEngineIsCut) {
  const std::string whole = undisturbed();
  const std::string sent = script_.bytes();
  run_lives([&]() -> net::Task<void> {
    for (std::size_t cut = 0; cut < sent.size(); cut += 41) {
      std::deque<Life> lives{{Life::End::kCut, cut}};
      const std::string seen = co_await ask(std::move(lives), kBody);
      EXPECT_EQ(as_first(seen), whole) << "cut at " << cut;
      EXPECT_LE(bodies_.size(), 2U);
    }
  });
  EXPECT_EQ(forwarder_->counts().broken_streams, 0);
  EXPECT_GT(forwarder_->counts().resumed, 20);
  EXPECT_GT(forwarder_->counts().total, 40);
}

TEST_F(StreamResume, OrAtTheBoundsOfItsEvents) {
  const std::string whole = undisturbed();
  run_lives([&]() -> net::Task<void> {
    std::size_t at = 0;
    for (const std::string& event : script_.events()) {
      at += event.size();
      for (const std::size_t cut : {at - 2, at - 1, at}) {
        for (const Life::End end : {Life::End::kCut, Life::End::kGivesUp, Life::End::kProper}) {
          std::deque<Life> lives{{end, cut}};
          const std::string seen = co_await ask(std::move(lives), kBody);
          EXPECT_EQ(as_first(seen), whole) << "cut at " << cut;
        }
      }
    }
  });
  EXPECT_EQ(forwarder_->counts().broken_streams, 0);
}

TEST_F(StreamResume, TheNextEngineIsToldTheTokensAndTheSeed) {
  const std::size_t bytes = script_.bytes().size() / 2;
  run_lives([&]() -> net::Task<void> {
    std::deque<Life> lives{{Life::End::kCut, bytes}};
    const std::string seen = co_await ask(std::move(lives), R"({"messages":[],"stream":true})");
    EXPECT_EQ(seen, undisturbed());
    EXPECT_EQ(bodies_.size(), 2U);
    if (bodies_.size() != 2U) co_return;
    EXPECT_EQ(bodies_[0], R"({"messages":[],"stream":true,"kantha":{"return_token_ids":true}})");
    EXPECT_FALSE(resumed_ids(bodies_[1]).empty());
    EXPECT_NE(bodies_[1].find(R"("seed":9007199254740993})"), std::string::npos) << bodies_[1];
  });
}

TEST_F(StreamResume, ManyEnginesOneStream) {
  gate_->last_ = EngineEnds::Last::kWasEnded;
  const std::size_t some = script_.events()[0].size() + script_.events()[1].size();
  run_lives([&]() -> net::Task<void> {
    std::deque<Life> lives{{Life::End::kNoAnswer},     {Life::End::kCut, 0},
                           {Life::End::kCut, some},    {Life::End::kCut, 500},
                           {Life::End::kGivesUp, 400}, {Life::End::kCut, 10}};
    const std::string seen = co_await ask(std::move(lives), kBody);
    EXPECT_EQ(as_first(seen), undisturbed());
    EXPECT_EQ(bodies_.size(), 7U);
  });
  EXPECT_EQ(forwarder_->counts().broken_streams, 0);
}

TEST_F(StreamResume, OnlyTheEndIsMissingSoNoEngineIsAsked) {
  script_.usage = false;
  const std::string whole = undisturbed();
  const std::size_t all_but_done = script_.bytes().size() - net::sse_data("[DONE]").size();
  run_lives([&]() -> net::Task<void> {
    std::deque<Life> lives{{Life::End::kCut, all_but_done}};
    const std::string seen = co_await ask(std::move(lives), kBody);
    EXPECT_EQ(seen, whole);
    EXPECT_EQ(bodies_.size(), 1U);
  });
  EXPECT_EQ(forwarder_->counts().completed, 1);
}

TEST_F(StreamResume, AClientThatAskedForTokenIdsGetsEachOnce) {
  run_lives([&]() -> net::Task<void> {
    const std::string body = R"({"messages":[],"stream":true,"seed":9007199254740993,)"
                             R"("kantha":{"return_token_ids":true}})";
    std::deque<Life> lives{{Life::End::kCut, 900}, {Life::End::kCut, 400}};
    const std::string seen = co_await ask(std::move(lives), body);
    EXPECT_EQ(seen, script_.bytes());
  });
}

TEST_F(StreamResume, ARequestThatEndsTwoEnginesAtOnePlaceGetsNoThird) {
  const std::size_t bytes = script_.bytes().size() / 2;
  run_lives([&]() -> net::Task<void> {
    std::deque<Life> lives{{Life::End::kCut, bytes}, {Life::End::kCut, 0}};
    const std::string seen = co_await ask(std::move(lives), kBody);
    EXPECT_NE(error_of(seen).find("2 engines ended"), std::string::npos) << seen;
    EXPECT_EQ(bodies_.size(), 2U);
  });
  EXPECT_EQ(forwarder_->counts().broken_streams, 1);
  EXPECT_EQ(forwarder_->counts().unresumed, 1);
}

TEST_F(StreamResume, OneThatGetsATokenFromEachEngineIsNotToBlame) {
  std::vector<std::string> events = script_.events();
  run_lives([&]() -> net::Task<void> {
    std::deque<Life> lives{{Life::End::kCut, events[0].size() + events[1].size()}};
    // Its first event says seed and prompt_tokens, too.
    for (int i = 2; i < 6; ++i) lives.push_back({Life::End::kCut, events[i].size() + 60});
    const std::string seen = co_await ask(std::move(lives), kBody);
    EXPECT_EQ(seen, undisturbed());
    EXPECT_EQ(bodies_.size(), 6U);
  });
}

TEST_F(StreamResume, ThereIsAnEndToTheEnginesOfOneRequest) {
  gate_->last_ = EngineEnds::Last::kWasEnded;
  policy_.losses_max = 3;
  run_lives([&]() -> net::Task<void> {
    std::deque<Life> lives(5, Life{Life::End::kCut, 0});
    const std::string seen = co_await ask(std::move(lives), kBody);
    EXPECT_NE(error_of(seen).find("3 engines ended"), std::string::npos) << seen;
    EXPECT_EQ(bodies_.size(), 3U);
  });
}

TEST_F(StreamResume, WithoutAnEngineInTimeThereIsOneErrorEventAfterComments) {
  policy_.resume_timeout = milliseconds(200);
  policy_.silence_timeout = milliseconds(50);
  policy_.comment_every = milliseconds(20);
  run_lives([&]() -> net::Task<void> {
    net::TaskGroup closer(context_.get_executor(), "closer");
    closer.spawn([](FakeGate* gate, std::vector<std::string>* bodies) -> net::Task<void> {
      while (bodies->empty()) co_await net::sleep_for(milliseconds(1));
      gate->phase_ = EnginePhase::kCrashLoop;
    }(gate_.get(), &bodies_));
    std::deque<Life> lives{{Life::End::kHangs, 900}};
    const std::string seen = co_await ask(std::move(lives), kBody);
    co_await closer.join();
    EXPECT_NE(error_of(seen).find("no engine: as the test says"), std::string::npos) << seen;
    EXPECT_NE(seen.find(": keep-alive\n\n: keep-alive"), std::string::npos) << seen;
  });
  EXPECT_EQ(forwarder_->counts().unresumed, 1);
}

TEST_F(StreamResume, WhoHasASignOfLifeWaitsThroughACrashLoop) {
  policy_.comment_every = milliseconds(20);
  policy_.hold_timeout = std::chrono::seconds(20);
  run_lives([&]() -> net::Task<void> {
    gate_->phase_ = EnginePhase::kStarting;
    net::TaskGroup keeper(context_.get_executor(), "keeper");
    keeper.spawn([](FakeGate* gate) -> net::Task<void> {
      co_await net::sleep_for(milliseconds(200));  // the client has its 200 and comments
      gate->phase_ = EnginePhase::kCrashLoop;
      co_await net::sleep_for(milliseconds(200));
      gate->phase_ = EnginePhase::kReady;
    }(gate_.get()));
    std::deque<Life> lives{{}};
    const std::string seen = co_await ask(std::move(lives), kBody);
    co_await keeper.join();
    EXPECT_NE(seen.find("[DONE]"), std::string::npos) << seen;
    EXPECT_EQ(seen.find("error"), std::string::npos) << seen;
    EXPECT_NE(seen.find(": keep-alive"), std::string::npos) << seen;
  });
  EXPECT_EQ(bodies_.size(), 1U);
}

TEST_F(StreamResume, AnEngineThatIsFullOrNotReadyIsAskedAgain) {
  run_lives([&]() -> net::Task<void> {
    std::deque<Life> lives{{Life::End::kCut, 900},
                           {Life::End::kRefuses, 0, 503},
                           {Life::End::kRefuses, 0, 429},
                           {Life::End::kRefuses, 0, 429}};
    const std::string seen = co_await ask(std::move(lives), kBody);
    EXPECT_EQ(seen, undisturbed());
    EXPECT_EQ(bodies_.size(), 5U);
  });
}

TEST_F(StreamResume, AnEngineThatRefusesToGoOnEndsTheStreamWithItsReason) {
  run_lives([&]() -> net::Task<void> {
    std::deque<Life> lives{{Life::End::kCut, 900}, {Life::End::kRefuses, 0, 400}};
    const std::string seen = co_await ask(std::move(lives), kBody);
    EXPECT_NE(error_of(seen).find("kantha.resume"), std::string::npos) << seen;
  });
}

TEST_F(StreamResume, AWholeAnswerIsAskedForAgainWhenItsEngineStops) {
  run_lives([&]() -> net::Task<void> {
    lives_ = {{Life::End::kRefuses, 0, 503}, {Life::End::kNoAnswer}};
    const std::string body = R"({"messages":[]})";
    const auto answer = co_await post("/v1/chat/completions", body);
    EXPECT_TRUE(answer.ok() && answer->status == 200);
    EXPECT_EQ(bodies_, std::vector<std::string>(3, body)) << "unchanged";
  });
}

TEST_F(StreamResume, AFirstRefusalIsTheClientsAnswer) {
  run_lives([&]() -> net::Task<void> {
    lives_ = {{Life::End::kRefuses, 0, 429}};
    const auto answer = co_await post("/v1/chat/completions", kBody);
    EXPECT_TRUE(answer.ok() && answer->status == 429);
    EXPECT_EQ(bodies_.size(), 1U);
  });
}

TEST_F(StreamResume, AStreamThatOutlivesTheDrainIsToldSo) {
  run_lives([&]() -> net::Task<void> {
    net::TaskGroup ender(context_.get_executor(), "ender");
    ender.spawn([](Forwarder* forwarder) -> net::Task<void> {
      while (forwarder->dispatched() == 0) co_await net::sleep_for(milliseconds(1));
      forwarder->set_draining();
      EXPECT_FALSE(co_await forwarder->wait_done(milliseconds(100)));
      forwarder->expire();
      EXPECT_TRUE(co_await forwarder->wait_done(seconds(2)));
    }(forwarder_.get()));
    std::deque<Life> lives{{Life::End::kHangs, 900}};
    const std::string seen = co_await ask(std::move(lives), kBody);
    EXPECT_NE(error_of(seen).find("shutting down"), std::string::npos) << seen;
    co_await ender.join();
  });
}

/// Takes everything back from the engine that has the request, and lets it go on a while later.
net::Task<void> recall_once(Forwarder* forwarder, std::vector<std::string>* bodies) {
  while (bodies->empty()) co_await net::sleep_for(milliseconds(1));
  co_await net::sleep_for(milliseconds(30));
  forwarder->set_holding(true);
  forwarder->recall();
  EXPECT_TRUE(co_await forwarder->wait_idle(seconds(2)));
  EXPECT_EQ(forwarder->counts().held, 1);
  forwarder->set_holding(false);
}

TEST_F(StreamResume, AStreamThatIsTakenBackGoesOnWhenEnginesMayBeUsedAgain) {
  run_lives([&]() -> net::Task<void> {
    net::TaskGroup changer(context_.get_executor(), "changer");
    changer.spawn(recall_once(forwarder_.get(), &bodies_));
    std::deque<Life> lives{{Life::End::kHangs, 900}};
    const std::string seen = co_await ask(std::move(lives), kBody);
    EXPECT_EQ(seen, undisturbed());
    EXPECT_EQ(bodies_.size(), 2U);
    co_await changer.join();
  });
  EXPECT_EQ(forwarder_->counts().resumed, 1);
  EXPECT_EQ(gate_->suspected_, 0) << "nobody is to blame";
}

TEST_F(StreamResume, AStreamThatWaitsToBeginSeesCommentsAndThenTheAnswerOrAnEvent) {
  policy_.comment_every = milliseconds(20);
  gate_->phase_ = EnginePhase::kStarting;
  int waits = 0;
  gate_->on_wait_ = [&] {
    if (++waits == 20) gate_->phase_ = EnginePhase::kReady;
  };
  run_lives([&]() -> net::Task<void> {
    std::string seen = co_await ask({}, kBody);
    EXPECT_TRUE(seen.starts_with(": keep-alive\n\n")) << seen;
    EXPECT_EQ(replaced(seen, ": keep-alive\n\n", ""), undisturbed());
    waits = 0;
    gate_->phase_ = EnginePhase::kStarting;
    std::deque<Life> lives{{Life::End::kRefuses, 0, 400}};
    seen = co_await ask(std::move(lives), kBody);
    EXPECT_NE(error_of(seen).find("no"), std::string::npos) << seen;
    EXPECT_NE(seen.find("kantha.resume"), std::string::npos) << "the engine's own words: " << seen;
  });
}

TEST_F(StreamResume, TheOutcomeCountsEachTokenOnceHoweverManyEngines) {
  notes_outcomes_ = true;
  std::string seen;
  run_lives([&]() -> net::Task<void> {
    std::deque<Life> lives{{Life::End::kNoAnswer}, {Life::End::kCut, 900}, {Life::End::kCut, 700}};
    seen = co_await ask(std::move(lives), kBody);
  });
  ASSERT_EQ(outcomes_.size(), 1U);
  const ForwardOutcome& outcome = outcomes_[0];
  EXPECT_EQ(outcome.status, 200);
  EXPECT_TRUE(outcome.streamed);
  EXPECT_EQ(outcome.ended_by, EndedBy::kServer);
  EXPECT_EQ(outcome.prompt_tokens, kScriptedPrompt);
  EXPECT_EQ(outcome.completion_tokens, kScriptedTokens);
  EXPECT_EQ(outcome.resumes, 2);
  EXPECT_EQ(outcome.retries, 1);
  EXPECT_EQ(outcome.bytes_sent, static_cast<std::int64_t>(seen.size()));
  EXPECT_EQ(outcome.target, "engine");
  ASSERT_TRUE(outcome.first_byte);
  EXPECT_LE(*outcome.first_byte, outcome.total);
}

TEST_F(StreamResume, TheOutcomeOfWholeAnswersErrorsAndStreamsOfManyChoices) {
  notes_outcomes_ = true;
  policy_.kept_bytes_max = 100;
  const auto engine = [](net::HttpRequest request, net::ResponseWriter& writer) -> net::Task<void> {
    if (request.body.find("stream") == std::string::npos) {
      net::HttpResponse whole;
      whole.body = R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":30}})";
      static_cast<void>(co_await writer.send(std::move(whole)));
      co_return;
    }
    net::Headers headers{{"Content-Type", "text/event-stream"}};
    static_cast<void>(co_await writer.start(200, headers));
    for (const char* piece : {"data: a\n", "\ndata: b\n\n", "data: c\n\ndata: d"}) {
      static_cast<void>(co_await writer.write(piece));
    }
    writer.abort();
  };
  run(engine, [this]() -> net::Task<void> {
    for (const char* body : {"{}", R"({"messages":[],"stream":true,"n":2})"}) {
      static_cast<void>(co_await post("/v1/chat/completions", body));
    }
    const auto refused = co_await post("/v1/chat/completions", std::string(101, ' '));
    EXPECT_TRUE(refused.ok() && refused->status == 503);
  });
  ASSERT_EQ(outcomes_.size(), 3U);
  EXPECT_EQ(outcomes_[0].prompt_tokens, 7);
  EXPECT_EQ(outcomes_[0].completion_tokens, 30);
  EXPECT_EQ(outcomes_[0].ended_by, EndedBy::kServer);
  EXPECT_FALSE(outcomes_[0].streamed);
  EXPECT_EQ(outcomes_[1].completion_tokens, 3) << "the events that passed";
  EXPECT_EQ(outcomes_[1].ended_by, EndedBy::kDoor);
  EXPECT_NE(outcomes_[1].error.find("one prompt and one sample"), std::string::npos);
  EXPECT_EQ(outcomes_[2].status, 503);
  EXPECT_NE(outcomes_[2].error.find("above 100"), std::string::npos) << outcomes_[2].error;
  EXPECT_EQ(forwarder_->counts().kept_bytes, 0);
}

TEST_F(StreamResume, AClientThatLeavesWhileItsStreamWaitsIsForgotten) {
  policy_.resume_timeout = seconds(60);
  run_lives([&]() -> net::Task<void> {
    lives_ = {{Life::End::kCut, 900}};
    net::HttpRequest request{"POST", "/v1/chat/completions", {}, kBody};
    auto opened = co_await user_.open(door_at_, std::move(request), seconds(5));
    EXPECT_TRUE(opened.ok());
    if (!opened.ok()) co_return;
    gate_->phase_ = EnginePhase::kBackoff;
    std::shared_ptr<net::ResponseStream> stream = std::move(opened).value();
    for (int i = 0; i < 200 && forwarder_->counts().held == 0; ++i) {
      co_await net::sleep_for(milliseconds(10));
    }
    EXPECT_EQ(forwarder_->counts().held, 1);
    stream->cancel();
    for (int i = 0; i < 100 && forwarder_->counts().in_flight > 0; ++i) {
      co_await net::sleep_for(milliseconds(10));
    }
    EXPECT_EQ(forwarder_->counts().in_flight, 0);
    EXPECT_EQ(bodies_.size(), 1U);
  });
}

}  // namespace
}  // namespace kantha::noded
