#include "engine/api/stream_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kantha::api {
namespace {

ReplyHead head_of(ApiKind api) {
  return {.api = api, .id = "id-1", .created = 17, .model = "m", .fingerprint = "fp"};
}

const std::string kChatStart = R"({"id":"id-1","object":"chat.completion.chunk","created":17,)"
                               R"("model":"m","system_fingerprint":"fp","choices":[)";

ScoredToken scored(const std::string& bytes, double logprob, std::vector<Candidate> top = {}) {
  return {.chosen = {bytes, logprob}, .top = std::move(top)};
}

TEST(StreamWriter, ChatChunksHaveTheirExactShape) {
  StreamWriter writer(head_of(ApiKind::kChat), {});
  EXPECT_EQ(
      writer.role(0),
      kChatStart +
          R"({"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]})");
  EXPECT_EQ(writer.delta({.index = 0, .text = "Hi"}),
            kChatStart +
                R"({"index":0,"delta":{"content":"Hi"},"logprobs":null,"finish_reason":null}]})");
  EXPECT_EQ(writer.finish(0, "stop"),
            kChatStart + R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]})");
}

TEST(StreamWriter, OnlyTheFirstDeltaHasARoleAndNoContentIsNull) {  // report B004
  StreamWriter writer(head_of(ApiKind::kChat), {});
  const Json first = Json::parse(writer.role(0))["choices"][0]["delta"];
  EXPECT_EQ(first, Json({{"role", "assistant"}, {"content", ""}}));
  const Json later = Json::parse(writer.delta({.text = "x"}))["choices"][0]["delta"];
  EXPECT_EQ(later, Json({{"content", "x"}}));
}

TEST(StreamWriter, CompletionChunksHaveTextAndTheLastOneIsEmpty) {
  StreamWriter writer(head_of(ApiKind::kCompletion), {});
  const Json delta = Json::parse(writer.delta({.index = 3, .text = "abc"}));
  EXPECT_EQ(delta["object"], "text_completion");
  EXPECT_EQ(delta["choices"][0]["index"], 3);
  EXPECT_EQ(delta["choices"][0]["text"], "abc");
  EXPECT_TRUE(delta["choices"][0]["finish_reason"].is_null());
  const Json last = Json::parse(writer.finish(3, "length"));
  EXPECT_EQ(last["choices"][0]["text"], "");
  EXPECT_EQ(last["choices"][0]["finish_reason"], "length");
}

TEST(StreamWriter, UsageChunkHasNoChoicesAndOtherChunksHaveNullUsage) {
  StreamWriter writer(head_of(ApiKind::kChat), {.include_usage = true});
  EXPECT_TRUE(Json::parse(writer.delta({.text = "x"})).at("usage").is_null());
  const Json chunk =
      Json::parse(writer.usage({.prompt_tokens = 5, .completion_tokens = 2, .cached_tokens = 3}));
  EXPECT_EQ(chunk["choices"], Json::array());
  EXPECT_EQ(chunk["usage"].dump(),
            Json::parse(R"({"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,
                            "prompt_tokens_details":{"cached_tokens":3}})")
                .dump());
  StreamWriter silent(head_of(ApiKind::kChat), {});
  EXPECT_FALSE(Json::parse(silent.delta({.text = "x"})).contains("usage"));
}

TEST(StreamWriter, WholeAnswersOfBothApis) {
  const std::vector<Choice> choices{{.answer = {.text = "Paris."}, .finish_reason = "stop"}};
  const Usage usage{.prompt_tokens = 1, .completion_tokens = 2};
  StreamWriter chat(head_of(ApiKind::kChat), {});
  const Json reply = Json::parse(chat.whole(choices, usage));
  EXPECT_EQ(reply["object"], "chat.completion");
  EXPECT_EQ(reply["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(reply["choices"][0]["message"]["content"], "Paris.");
  EXPECT_EQ(reply["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(reply["usage"]["total_tokens"], 3);
  StreamWriter text(head_of(ApiKind::kCompletion), {});
  EXPECT_EQ(Json::parse(text.whole(choices, usage))["choices"][0]["text"], "Paris.");
}

TEST(StreamWriter, ChatLogprobsHaveBytesAndTop) {  // report B032
  StreamWriter writer(head_of(ApiKind::kChat), {.logprobs = true});
  const Json chunk = Json::parse(writer.delta(
      {.text = "é", .scores = {scored("\xc3\xa9", -0.25, {{"\xc3\xa9", -0.25}, {"e", -2}})}}));
  const Json& entry = chunk["choices"][0]["logprobs"]["content"][0];
  EXPECT_EQ(entry["token"], "é");
  EXPECT_EQ(entry["bytes"], Json({0xc3, 0xa9}));
  EXPECT_EQ(entry["logprob"], -0.25);
  EXPECT_EQ(entry["top_logprobs"].size(), 2u);
  EXPECT_EQ(entry["top_logprobs"][1]["token"], "e");
}

TEST(StreamWriter, PartsOfCharactersAreShownAsBytes) {
  StreamWriter writer(head_of(ApiKind::kChat), {.logprobs = true});
  const Json chunk = Json::parse(writer.delta({.scores = {scored("\xf0\x9f", -1)}}));
  const Json& entry = chunk["choices"][0]["logprobs"]["content"][0];
  EXPECT_EQ(entry["token"], "bytes:\\xf0\\x9f");
  EXPECT_EQ(entry["bytes"], Json({0xf0, 0x9f}));
}

TEST(StreamWriter, CompletionLogprobsCountCharactersAcrossChunks) {
  StreamWriter writer(head_of(ApiKind::kCompletion), {.logprobs = true, .text_offset = 10});
  const auto logprobs = [&](std::vector<ScoredToken> scores) {
    return Json::parse(writer.delta({.scores = std::move(scores)}))["choices"][0]["logprobs"];
  };
  const Json first = logprobs({scored("a", -1, {{"b", -0.5}}), scored("\xc3", -1)});
  EXPECT_EQ(first["tokens"], Json({"a", "bytes:\\xc3"}));
  EXPECT_EQ(first["text_offset"], Json({10, 11}));
  EXPECT_EQ(first["top_logprobs"][0], Json({{"b", -0.5}, {"a", -1.0}}));
  const Json second = logprobs({scored("\xa9", -1), scored("xy", -2), scored("z", -3)});
  EXPECT_EQ(second["text_offset"], Json({12, 12, 14}));
  EXPECT_EQ(second["token_logprobs"], Json({-1.0, -2.0, -3.0}));
}

TEST(StreamWriter, InfinitiesAndNanBecomeTheFloor) {
  StreamWriter writer(head_of(ApiKind::kCompletion), {.logprobs = true});
  const double infinity = std::numeric_limits<double>::infinity();
  const std::string text = writer.delta(
      {.scores = {scored("a", -infinity), scored("b", std::nan("")), scored("c", 1e-7)}});
  ASSERT_TRUE(Json::accept(text)) << text;
  EXPECT_EQ(Json::parse(text)["choices"][0]["logprobs"]["token_logprobs"],
            Json({-9999.0, -9999.0, 0.0}));
}

TEST(StreamWriter, TokenIdsAndWhatTheyCameFromAreThereWhenAskedFor) {
  StreamWriter writer(head_of(ApiKind::kChat), {.token_ids = true, .seed = 42, .prompt_tokens = 6});
  const Json first = Json::parse(writer.role(0));
  EXPECT_EQ(first["kantha"],
            Json({{"token_ids", Json::array()}, {"seed", 42}, {"prompt_tokens", 6}}));
  const Json delta = Json::parse(writer.delta({.text = "x", .token_ids = {4, 5}}));
  EXPECT_EQ(delta["kantha"], Json({{"token_ids", {4, 5}}}));
  EXPECT_EQ(Json::parse(writer.finish(0, "stop", {2}))["kantha"]["token_ids"], Json({2}));
  StreamWriter silent(head_of(ApiKind::kChat), {});
  EXPECT_FALSE(Json::parse(silent.delta({.text = "x", .token_ids = {4}})).contains("kantha"));
}

TEST(StreamWriter, InvalidUtf8NeverBreaksTheJson) {
  StreamWriter writer(head_of(ApiKind::kChat), {.logprobs = true});
  EXPECT_TRUE(Json::accept(writer.delta({.text = "\xff\xfe", .scores = {scored("\xff", -1)}})));
}

TEST(ReplyId, NamesItsApi) {
  EXPECT_EQ(reply_id(ApiKind::kChat, 0x0123456789abcdef, 0xfedcba98),
            "chatcmpl-0123456789abcdeffedcba98");
  EXPECT_EQ(reply_id(ApiKind::kCompletion, 0, 1), "cmpl-000000000000000000000001");
}

TEST(StreamWriter, CallsAndReasoningHaveTheirOwnKeys) {  // reports B004, B056
  StreamWriter writer(head_of(ApiKind::kChat), {});
  const auto delta_of = [&writer](const Delta& delta) {
    return Json::parse(writer.delta(delta))["choices"][0]["delta"];
  };
  EXPECT_EQ(delta_of({.reasoning = "hm"}),
            Json({{"reasoning_content", "hm"}, {"reasoning", "hm"}}));
  const Json first = delta_of({.calls = {{.index = 1, .id = "call_1", .name = "f"}}});
  EXPECT_EQ(first, Json::parse(R"({"tool_calls":[{"index":1,"id":"call_1","type":"function",
                                   "function":{"name":"f","arguments":""}}]})"));
  const Json later = delta_of({.text = "x", .calls = {{.index = 1, .arguments = "{}"}}});
  EXPECT_EQ(later, Json::parse(R"({"content":"x","tool_calls":[{"index":1,
                                   "function":{"arguments":"{}"}}]})"));
}

TEST(StreamWriter, AWholeAnswerOfCallsHasNoContent) {  // report B056
  StreamWriter writer(head_of(ApiKind::kChat), {});
  Choice choice{.answer = {.reasoning = "hm",
                           .calls = {{.index = 0, .id = "call_1", .name = "f", .arguments = "{}"}}},
                .finish_reason = "tool_calls"};
  const Json whole = Json::parse(writer.whole({choice}, {.reasoning_tokens = 3}));
  EXPECT_EQ(whole["choices"][0]["message"],
            Json::parse(R"({"role":"assistant","content":null,"refusal":null,
                            "reasoning_content":"hm","reasoning":"hm","tool_calls":[{"id":"call_1",
                            "type":"function","function":{"name":"f","arguments":"{}"}}]})"));
  EXPECT_EQ(whole["choices"][0]["finish_reason"], "tool_calls");
  EXPECT_EQ(whole["usage"]["completion_tokens_details"]["reasoning_tokens"], 3);
  choice.answer.text = "Look:";
  EXPECT_EQ(Json::parse(writer.whole({choice}, {}))["choices"][0]["message"]["content"], "Look:");
}

}  // namespace
}  // namespace kantha::api
