#include "engine/api/chat_request.h"

#include <gtest/gtest.h>

#include "engine/api/openai_error.h"

namespace kantha::api {
namespace {

constexpr RequestLimits kLimits{.vocabulary_size = 100, .context_max = 512};

Result<ChatRequest> read(std::string_view text) {
  return read_chat_request(Json::parse(text), kLimits);
}

std::string field_at_fault(std::string_view text) {
  const auto request = read(text);
  return request.ok() ? "none" : request.error().field;
}

TEST(ChatRequest, ReadsEverySupportedField) {
  const auto request = read(R"({
    "model":"m","messages":[{"role":"system","content":"be short"},
                            {"role":"user","content":"hi","name":"ann"}],
    "max_completion_tokens":7,"temperature":0.5,"top_p":0.9,"top_k":3,"min_p":0.1,"seed":-5,
    "stop":["a","b"],"stream":true,"stream_options":{"include_usage":true},
    "logprobs":true,"top_logprobs":4,"min_tokens":2,"ignore_eos":true,"stop_token_ids":[7],
    "chat_template_kwargs":{"thinking":false},
    "kantha":{"resume":{"token_ids":[1,2]},"return_token_ids":true}})");
  ASSERT_TRUE(request.ok()) << request.error().to_string();
  const GenerationFields& fields = request->fields;
  EXPECT_EQ(fields.model, "m");
  EXPECT_EQ(fields.max_tokens, 7);
  EXPECT_EQ(fields.temperature, 0.5);
  EXPECT_EQ(fields.top_p, 0.9);
  EXPECT_EQ(fields.top_k, 3);
  EXPECT_EQ(fields.min_p, 0.1);
  EXPECT_EQ(fields.seed, -5);
  EXPECT_EQ(fields.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(fields.stream);
  EXPECT_TRUE(fields.include_usage);
  EXPECT_EQ(fields.logprobs, 4);
  EXPECT_EQ(fields.min_tokens, 2);
  EXPECT_TRUE(fields.ignore_eos);
  EXPECT_EQ(fields.stop_token_ids, std::vector<TokenId>{7});
  EXPECT_EQ(fields.vendor.resumed_token_ids, (std::vector<TokenId>{1, 2}));
  EXPECT_TRUE(fields.vendor.return_token_ids);
  EXPECT_EQ(request->template_extra.dump(), R"({"thinking":false})");
  EXPECT_EQ(request->messages.dump(), R"([{"role":"system","content":"be short"},)"
                                      R"({"role":"user","content":"hi","name":"ann"}])");
  EXPECT_EQ(request->content_bytes, 13);
}

TEST(ChatRequest, DefaultsAreOpenAis) {
  const auto request = read(R"({"messages":[{"role":"user","content":"hi"}]})");
  ASSERT_TRUE(request.ok());
  EXPECT_FALSE(request->fields.max_tokens.has_value());
  EXPECT_EQ(request->fields.temperature, 1.0);
  EXPECT_EQ(request->fields.top_p, 1.0);
  EXPECT_EQ(request->fields.logprobs, -1);
  EXPECT_FALSE(request->fields.stream);
  EXPECT_FALSE(request->fields.seed.has_value());
}

TEST(ChatRequest, TextPartsAreJoinedByLineBreaks) {
  const auto request = read(R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},)"
                            R"({"type":"text","text":"b"}]}]})");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->messages[0]["content"], "a\nb");
}

TEST(ChatRequest, DeveloperIsReadAsSystem) {
  const auto request = read(R"({"messages":[{"role":"developer","content":"x"}]})");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->messages[0]["role"], "system");
}

TEST(ChatRequest, AssistantMayHaveNoContentButCalls) {
  const auto request = read(R"({"messages":[{"role":"user","content":"x"},
    {"role":"assistant","content":null,
    "tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"not json"}}]},
    {"role":"tool","tool_call_id":"c1","content":"42"}]})");
  ASSERT_TRUE(request.ok()) << request.error().to_string();
  EXPECT_EQ(request->messages[1]["content"], "");
  EXPECT_EQ(request->messages[1]["tool_calls"][0]["function"]["arguments"], "not json");
  EXPECT_EQ(request->messages[2]["tool_call_id"], "c1");
}

TEST(ChatRequest, NulIsAnOrdinaryCharacter) {  // report B020
  const auto request = read("{\"messages\":[{\"role\":\"user\",\"content\":\"a\\u0000b\"}]}");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->messages[0]["content"], std::string("a\0b", 3));
}

struct FaultCase {
  const char* name;
  const char* body;
  const char* field;
};

constexpr FaultCase kFaults[] = {
    {"no messages", R"({})", "messages"},
    {"empty messages", R"({"messages":[]})", "messages"},
    {"a message that is text", R"({"messages":["hi"]})", "messages[0]"},
    {"no role", R"({"messages":[{"content":"x"}]})", "messages[0].role"},
    {"unknown role", R"({"messages":[{"role":"god","content":"x"}]})", "messages[0].role"},
    {"no content", R"({"messages":[{"role":"user"}]})", "messages[0].content"},
    {"null content of a user", R"({"messages":[{"role":"user","content":null}]})",
     "messages[0].content"},
    {"content is a number", R"({"messages":[{"role":"user","content":3}]})", "messages[0].content"},
    {"no parts", R"({"messages":[{"role":"user","content":[]}]})", "messages[0].content"},
    {"a part that is text", R"({"messages":[{"role":"user","content":["x"]}]})",
     "messages[0].content[0]"},
    {"an image",
     R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})",
     "messages[0].content[0].type"},
    {"a part without text", R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})",
     "messages[0].content[0].text"},
    {"name is a number", R"({"messages":[{"role":"user","content":"x","name":1}]})",
     "messages[0].name"},
    {"a call without function", R"({"messages":[{"role":"assistant","tool_calls":[{"id":"x"}]}]})",
     "messages[0].tool_calls[0].function"},
    {"nested template variable",
     R"({"messages":[{"role":"user","content":"x"}],"chat_template_kwargs":{"a":[1]}})",
     "chat_template_kwargs.a"},
    {"template variable of the server",
     R"({"messages":[{"role":"user","content":"x"}],"chat_template_kwargs":{"messages":"x"}})",
     "chat_template_kwargs.messages"},
    {"stream_options without stream",  // report B002
     R"({"messages":[{"role":"user","content":"x"}],"stream_options":{"include_usage":true}})",
     "stream_options"},
    {"include_usage is text",
     R"({"messages":[{"role":"user","content":"x"}],"stream":true,)"
     R"("stream_options":{"include_usage":"y"}})",
     "stream_options.include_usage"},
    {"top_logprobs too large",  // report B002
     R"({"messages":[{"role":"user","content":"x"}],"logprobs":true,"top_logprobs":99})",
     "top_logprobs"},
    {"top_logprobs without logprobs",
     R"({"messages":[{"role":"user","content":"x"}],"top_logprobs":2})", "top_logprobs"},
    {"two limits that differ",
     R"({"messages":[{"role":"user","content":"x"}],"max_tokens":2,"max_completion_tokens":3})",
     "max_completion_tokens"},
    {"min above max",
     R"({"messages":[{"role":"user","content":"x"}],"max_tokens":2,"min_tokens":3})", "min_tokens"},
    {"unknown vendor field",
     R"({"messages":[{"role":"user","content":"x"}],"kantha":{"resumme":1}})", "kantha.resumme"},
};

TEST(ChatRequest, EachFaultNamesItsField) {
  for (const FaultCase& c : kFaults) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(field_at_fault(c.body), c.field);
  }
}

TEST(ChatRequest, WhatWeLackIsRefusedByNameAndSaysSo) {
  const auto request = read(R"({"messages":[{"role":"user","content":"x"}],"functions":[{}]})");
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.error().code, Code::kUnimplemented);
  EXPECT_EQ(request.error().reason, kReasonUnsupported);
  EXPECT_EQ(request.error().message, "functions: not supported; use tools");
  EXPECT_EQ(http_status(request.error()), 400);
}

TEST(ChatRequest, SamplersOfOtherServersAreRefusedUnlessTheyAreOff) {
  const Json turn{{{"role", "user"}, {"content", "hi"}}};
  const auto read = [&](const char* name, const Json& value) {
    const Json body{{"messages", turn}, {name, value}};
    return read_chat_request(body, {.vocabulary_size = 100, .context_max = 100});
  };
  for (const char* name : {"mirostat", "dynatemp_range", "xtc_probability", "dry_multiplier"}) {
    EXPECT_TRUE(read(name, 0).ok()) << name;
    const auto refused = read(name, 1);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().field, name);
    EXPECT_EQ(refused.error().reason, kReasonUnsupported);
  }
  EXPECT_TRUE(read("top_n_sigma", -1).ok());
  EXPECT_FALSE(read("top_n_sigma", 1).ok());
  const auto ids = read("return_token_ids", true);
  ASSERT_FALSE(ids.ok());
  EXPECT_NE(ids.error().message.find("kantha.return_token_ids"), std::string::npos);
}

}  // namespace
}  // namespace kantha::api
