#include "engine/serve/generation.h"

#include <gtest/gtest.h>

#include "tests/engine/serve/served.h"
#include "tests/fake/byte_vocabulary.h"

namespace kantha::serve {
namespace {

using fake::byte_tokens;
using fake::FakeReply;
using sched::FinishReason;

/// Makes the engine say `text` and then an end token.
void say(Served& served, const std::string& text) {
  served.engine().on_submit([text](const sched::GenerateSpec&) {
    return FakeReply{.tokens = byte_tokens(text), .end_token = fake::kTurnEnd};
  });
}

/// Makes the engine say `text` and then run out of max_tokens.
void say_and_cut(Served& served, const std::string& text) {
  served.engine().on_submit([text](const sched::GenerateSpec&) {
    return FakeReply{.tokens = byte_tokens(text), .finish = FinishReason::kLength};
  });
}

std::string finish_of(const StreamedAnswer& answer) {
  std::string reason;
  for (const Json& chunk : answer.chunks()) {
    if (!chunk.contains("choices")) continue;
    for (const Json& choice : chunk["choices"]) {
      if (!choice["finish_reason"].is_null()) reason = choice["finish_reason"];
    }
  }
  return reason;
}

TEST(Generation, WholeChatHasTextFinishAndUsage) {
  Served served;
  say(served, "Paris.");
  const auto response = served.post("/v1/chat/completions", chat({{"temperature", 0}}));
  ASSERT_EQ(response.status, 200) << response.body;
  const Json body = Json::parse(response.body);
  EXPECT_TRUE(body["id"].get<std::string>().starts_with("chatcmpl-"));
  EXPECT_EQ(body["model"], "m");
  EXPECT_EQ(body["choices"][0]["message"]["content"], "Paris.");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(body["usage"]["prompt_tokens"], 21);
  EXPECT_EQ(body["usage"]["completion_tokens"], 7);
  const auto spec = served.engine().submitted().at(0);
  EXPECT_EQ(spec.sampling.temperature, 0);
  EXPECT_EQ(spec.max_tokens, 512 - 21);
}

TEST(Generation, StreamedChatHasTheShapeThatClientsExpect) {  // report B004, B030
  Served served;
  say(served, "Paris.");
  const auto answer =
      served.stream("/v1/chat/completions",
                    chat({{"stream", true}, {"stream_options", {{"include_usage", true}}}}));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content_type, "text/event-stream; charset=utf-8");
  const auto chunks = answer.chunks();
  ASSERT_EQ(chunks.size(), 9u);  // role, six letters, finish, usage
  EXPECT_EQ(chunks[0]["choices"][0]["delta"], Json({{"role", "assistant"}, {"content", ""}}));
  EXPECT_EQ(chunks[1]["choices"][0]["delta"], Json({{"content", "P"}}));
  EXPECT_EQ(chunks[7]["choices"][0]["delta"], Json::object());
  EXPECT_EQ(chunks[7]["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(chunks[8]["choices"], Json::array());
  EXPECT_EQ(chunks[8]["usage"]["completion_tokens"], 7);
  EXPECT_TRUE(answer.done());
  EXPECT_EQ(answer.text(), "Paris.");
}

TEST(Generation, LengthIsALength) {  // report B030
  Served served;
  say_and_cut(served, "abc");
  const Json body = Json::parse(served.post("/v1/completions", completion()).body);
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["choices"][0]["text"], "abc");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(finish_of(served.stream("/v1/completions", completion({{"stream", true}}))), "length");
}

TEST(Generation, CharactersOverSeveralTokensArriveWhole) {  // report B006
  Served served;
  const std::string text = "🦩é赋👩‍👧";
  say(served, text);
  const auto answer = served.stream("/v1/chat/completions", chat({{"stream", true}}));
  EXPECT_EQ(answer.text(), text);
  EXPECT_EQ(answer.raw.find("\xEF\xBF\xBD"), std::string::npos);
  const Json whole = Json::parse(served.post("/v1/chat/completions", chat()).body);
  EXPECT_EQ(whole["choices"][0]["message"]["content"], text);
}

TEST(Generation, StopStringsOverSeveralTokensNeverLeak) {  // report B008
  Served served;
  served.engine().on_submit([](const sched::GenerateSpec&) {
    return FakeReply{.tokens = byte_tokens("one two three four"), .finish = std::nullopt};
  });
  const Json more{{"stop", {"two thr"}}};
  const auto whole = served.post("/v1/completions", completion(more));
  EXPECT_EQ(Json::parse(whole.body)["choices"][0]["text"], "one ");
  EXPECT_EQ(Json::parse(whole.body)["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(Json::parse(whole.body)["usage"]["completion_tokens"], 11);  // up to the stop string
  Json streamed = completion(more);
  streamed["stream"] = true;
  const auto answer = served.stream("/v1/completions", streamed);
  EXPECT_EQ(answer.text(), "one ");
  EXPECT_EQ(finish_of(answer), "stop");
  EXPECT_TRUE(net::eventually([&] { return served.engine().open_requests() == 0; }));
  EXPECT_EQ(served.engine().aborted().size(), 2u);
}

TEST(Generation, TextHeldBackForAStopStringComesAtTheEnd) {  // report B010
  Served served;
  say(served, "abcab");
  const Json more{{"stop", {"abz", "caba"}}, {"stream", true}};
  auto answer = served.stream("/v1/completions", completion(more));
  EXPECT_EQ(answer.text(), "abcab");
  EXPECT_EQ(finish_of(answer), "stop");
  say_and_cut(served, "abcab");
  answer = served.stream("/v1/completions", completion(more));
  EXPECT_EQ(answer.text(), "abcab");
  EXPECT_EQ(finish_of(answer), "length");
}

TEST(Generation, SeveralPromptsBecomeSeveralChoices) {
  Served served;
  served.engine().on_submit([](const sched::GenerateSpec& spec) {
    return FakeReply{.tokens = spec.prompt, .finish = FinishReason::kLength};
  });
  const Json more{{"prompt", {"ab", "xyz"}}};
  const Json body = Json::parse(served.post("/v1/completions", completion(more)).body);
  ASSERT_EQ(body["choices"].size(), 2u);
  EXPECT_EQ(body["choices"][0]["text"], "ab");
  EXPECT_EQ(body["choices"][1]["text"], "xyz");
  EXPECT_EQ(body["choices"][1]["index"], 1);
  EXPECT_EQ(body["usage"]["prompt_tokens"], 5);
  Json streamed = completion(more);
  streamed["stream"] = true;
  const auto answer = served.stream("/v1/completions", streamed);
  EXPECT_EQ(answer.text(0), "ab");
  EXPECT_EQ(answer.text(1), "xyz");
  EXPECT_TRUE(answer.done());
}

TEST(Generation, LogprobsOfBothApis) {  // report B032
  Served served;
  say_and_cut(served, "ab");
  const Json more{{"logprobs", true}, {"top_logprobs", 2}};
  const Json body = Json::parse(served.post("/v1/chat/completions", chat(more)).body);
  const Json& content = body["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), 2u);
  EXPECT_EQ(content[0]["token"], "a");
  EXPECT_EQ(content[0]["logprob"], -0.5);
  EXPECT_EQ(content[0]["top_logprobs"][1]["token"], "b");
  const auto answer =
      served.stream("/v1/completions", completion({{"logprobs", 1}, {"stream", true}}));
  const Json logprobs = answer.chunks().at(1)["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["tokens"], Json({"b"}));
  EXPECT_EQ(logprobs["text_offset"], Json({1}));
}

TEST(Generation, EngineFailureBeforeAnyTokenIsA500WhenNotStreamed) {
  Served served;
  served.engine().on_submit([](const sched::GenerateSpec&) {
    return FakeReply{.finish = FinishReason::kError, .error = "device lost"};
  });
  const auto response = served.post("/v1/completions", completion());
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(error_key(response, "message"), "device lost");
}

TEST(Generation, EngineFailureInAStreamIsOneErrorEventAndNoDone) {  // report B012
  Served served;
  served.engine().on_submit([](const sched::GenerateSpec&) {
    return FakeReply{
        .tokens = byte_tokens("ab"), .finish = FinishReason::kError, .error = "device lost"};
  });
  const auto answer = served.stream("/v1/completions", completion({{"stream", true}}));
  EXPECT_EQ(answer.status, 200);
  EXPECT_FALSE(answer.done());
  EXPECT_EQ(answer.chunks().back()["error"]["message"], "device lost");
  EXPECT_EQ(answer.text(), "ab");
  EXPECT_EQ(finish_of(answer), "");
}

TEST(Generation, RefusalsOfAStreamAreRealStatuses) {  // report B012
  Served served;
  auto answer = served.stream("/v1/completions", completion({{"stream", true}, {"top_p", 7}}));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.content_type, "application/json");
  served.engine().refuse(Error{.code = Code::kResourceExhausted, .message = "full"}, ok_status());
  answer = served.stream("/v1/completions", completion({{"stream", true}}));
  EXPECT_EQ(answer.status, 429);
}

TEST(Generation, FullQueueIs429WithRetryAfterBeforeTheTemplateRuns) {
  Served served;
  served.engine().refuse(
      ok_status(),
      Error{.code = Code::kResourceExhausted, .message = "full", .retry_after_ms = 2500});
  // 4,000 bytes are about 1,000 tokens: the estimate is what the door sees.
  const auto response =
      served.post("/v1/completions", completion({{"prompt", std::string(4000, 'a')}}));
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.headers.find("retry-after"), "3");
  EXPECT_EQ(served.engine().last_precheck().prompt_tokens, 1000);
  EXPECT_TRUE(served.engine().submitted().empty());
}

TEST(Generation, PromptsThatDoNotFitAre400WithBothNumbers) {  // report B024
  Served served;
  const auto ask = [&](int tokens, bool stream) {
    return served.post(
        "/v1/completions",
        {{"prompt", std::vector<int>(tokens, 'a')}, {"max_tokens", 1}, {"stream", stream}});
  };
  EXPECT_EQ(ask(511, false).status, 200);
  for (const int tokens : {512, 513, 5000}) {
    for (const bool stream : {false, true}) {
      const auto response = ask(tokens, stream);
      EXPECT_EQ(response.status, 400);
      EXPECT_EQ(error_key(response, "code"), "context_length_exceeded");
      const std::string message = error_key(response, "message");
      EXPECT_NE(message.find(std::to_string(tokens)), std::string::npos);
      EXPECT_NE(message.find("512"), std::string::npos);
    }
  }
}

TEST(Generation, TextThatCannotFitIsNotTokenized) {
  Served served;
  const std::string blanks(1 << 20, ' ');
  const Json messages = Json::array({{{"role", "user"}, {"content", blanks}}});
  for (const auto& [path, body] :
       {std::pair{"/v1/completions", Json{{"prompt", blanks}}},
        std::pair{"/v1/chat/completions", Json{{"messages", messages}}}}) {
    const auto response = served.post(path, body);
    EXPECT_EQ(response.status, 400);
    EXPECT_EQ(error_key(response, "code"), "context_length_exceeded");
    const std::string message = error_key(response, "message");
    EXPECT_NE(message.find(" bytes are at least "), std::string::npos) << message;
    EXPECT_NE(message.find("512"), std::string::npos) << message;
  }
  // Counting is still possible, however long the text is.
  const std::string some(100'000, 'a');
  const auto counted = served.post("/tokenize", {{"prompt", some}});
  ASSERT_EQ(counted.status, 200) << counted.body;
  EXPECT_GT(Json::parse(counted.body)["count"], 512);
}

TEST(Generation, EmptyPromptsAre400) {  // report B026
  Served served;
  for (const Json& prompt : {Json(""), Json::array({"", "a"}), Json::array({"a", ""})}) {
    const auto response = served.post("/v1/completions", {{"prompt", prompt}});
    EXPECT_EQ(response.status, 400) << prompt.dump();
    EXPECT_TRUE(error_key(response, "param").starts_with("prompt"));
  }
  EXPECT_TRUE(served.engine().submitted().empty());
}

TEST(Generation, OneRefusedPromptTakesTheOthersBack) {
  Served served;
  served.engine().on_submit(
      [&](const sched::GenerateSpec&) { return FakeReply{.finish = std::nullopt}; });
  const auto first = served.open_post("/v1/completions", completion({{"stream", true}}));
  EXPECT_TRUE(net::eventually([&] { return served.engine().open_requests() == 1; }));
  // The second prompt has 512 tokens and cannot fit: nothing of the request may start.
  const Json prompts = Json::array({std::vector<int>(2, 'a'), std::vector<int>(512, 'a')});
  EXPECT_EQ(served.post("/v1/completions", {{"prompt", prompts}}).status, 400);
  EXPECT_EQ(served.engine().open_requests(), 1u);
}

TEST(Generation, ResumedStreamGoesOnWhereItStopped) {
  Served served;
  served.engine().on_submit([](const sched::GenerateSpec& spec) {
    const std::string rest = std::string("Paris.").substr(spec.resumed.size());
    return FakeReply{.tokens = byte_tokens(rest), .end_token = fake::kTurnEnd};
  });
  const Json kantha{{"return_token_ids", true}, {"resume", {{"token_ids", byte_tokens("Par")}}}};
  const auto answer =
      served.stream("/v1/chat/completions", chat({{"stream", true},
                                                  {"seed", 5},
                                                  {"kantha", kantha},
                                                  {"stream_options", {{"include_usage", true}}}}));
  EXPECT_EQ(answer.text(), "is.");
  const auto chunks = answer.chunks();
  EXPECT_EQ(chunks[0]["choices"][0]["delta"], Json({{"content", "i"}}));  // no second role
  EXPECT_EQ(chunks[0]["kantha"]["token_ids"], Json(byte_tokens("i")));
  EXPECT_EQ(chunks[0]["kantha"]["seed"], 5);
  EXPECT_EQ(chunks[0]["kantha"]["prompt_tokens"], chunks.back()["usage"]["prompt_tokens"]);
  EXPECT_EQ(chunks.back()["usage"]["completion_tokens"], 7);
  EXPECT_EQ(served.engine().submitted().at(0).resumed, byte_tokens("Par"));
}

TEST(Generation, ResumeOfSomethingFinishedEndsAtOnce) {
  Served served;
  const auto finish = [&](std::vector<TokenId> ids, Json more) {
    Json body = completion({{"stream", true}, {"kantha", {{"resume", {{"token_ids", ids}}}}}});
    body.update(more);
    return finish_of(served.stream("/v1/completions", body));
  };
  EXPECT_EQ(finish({'a', fake::kTurnEnd}, Json::object()), "stop");
  EXPECT_EQ(finish({'a', 'b'}, {{"max_tokens", 2}}), "length");
  EXPECT_EQ(finish({'a', 'b'}, {{"stop", "ab"}}), "stop");
  EXPECT_EQ(finish({'a', 'b'}, {{"stop_token_ids", {'b'}}}), "stop");
  EXPECT_TRUE(served.engine().submitted().empty());
}

TEST(Generation, ResumeWhileTextIsHeldBackShowsIt) {
  Served served;
  say(served, "x");  // after a resumed "ab", where "b" may have begun the stop string "bz"
  const Json body = completion({{"stream", true},
                                {"stop", "bz"},
                                {"kantha", {{"resume", {{"token_ids", byte_tokens("ab")}}}}}});
  EXPECT_EQ(served.stream("/v1/completions", body).text(), "bx");
}

TEST(Generation, ResumeOfSomethingFinishedDoesNotRepeatItsLastText) {
  const auto rest = [](const std::string& resumed, Json more) {
    Served served;
    Json body = completion({{"stream", true},
                            {"max_tokens", resumed.size()},
                            {"kantha", {{"resume", {{"token_ids", byte_tokens(resumed)}}}}}});
    body.update(more);
    return served.stream("/v1/completions", body).text();
  };
  // The delta with the last token's id carried this text too.
  EXPECT_EQ(rest("ab", {{"stop", "bz"}}), "");
  EXPECT_EQ(rest("a\xc3", Json::object()), "");
}

TEST(Generation, AStopStringCompleteAtTheLastTokenIsAStop) {
  // "abcd" may still come when "bc" is complete; then the tokens run out.
  for (const bool stream : {true, false}) {
    Served served;
    say_and_cut(served, "xabc");
    const Json body = completion({{"stream", stream}, {"stop", {"abcd", "bc"}}});
    if (stream) {
      const auto answer = served.stream("/v1/completions", body);
      EXPECT_EQ(answer.text(), "xa");
      EXPECT_EQ(finish_of(answer), "stop");
    } else {
      const Json choice = Json::parse(served.post("/v1/completions", body).body)["choices"][0];
      EXPECT_EQ(choice["text"], "xa");
      EXPECT_EQ(choice["finish_reason"], "stop");
    }
  }
}

TEST(Generation, UnseededRequestsGetDifferentSeedsAndSeededOnesTheirs) {
  Served served;
  served.post("/v1/completions", completion());
  served.post("/v1/completions", completion());
  served.post("/v1/completions", completion({{"seed", -1}}));
  const auto specs = served.engine().submitted();
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_NE(specs[0].sampling.seed, specs[1].sampling.seed);
  EXPECT_EQ(specs[2].sampling.seed, ~std::uint64_t{0});
}

}  // namespace
}  // namespace kantha::serve
