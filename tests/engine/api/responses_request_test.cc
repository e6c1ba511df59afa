#include "engine/api/responses_request.h"

#include <gtest/gtest.h>

#include "engine/api/openai_error.h"
#include "engine/api/responses_answer.h"

namespace kantha::api {
namespace {

constexpr RequestLimits kLimits{.vocabulary_size = 100, .context_max = 512};

Json body(Json more = Json::object()) {
  Json json{{"model", "m"}, {"input", "hi"}};
  json.update(more);
  return json;
}

TEST(ResponsesRequest, TextIsAUsersMessage) {
  const auto request = read_responses_request(
      body({{"instructions", "be brief"}, {"max_output_tokens", 9}, {"store", true}}), kLimits);
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->messages.dump(),
            R"([{"role":"system","content":"be brief"},{"role":"user","content":"hi"}])");
  EXPECT_EQ(request->fields.max_tokens, 9);
  EXPECT_EQ(request->told["instructions"], "be brief");
}

TEST(ResponsesRequest, ItemsAreTurns) {
  const Json input = Json::parse(R"([
    {"role":"developer","content":"d"},
    {"type":"message","role":"user","content":[{"type":"input_text","text":"u"}]},
    {"type":"reasoning","id":"r","summary":[],"content":[{"type":"reasoning_text","text":"t"}]},
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]},
    {"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
    {"type":"function_call","call_id":"c2","name":"g","arguments":"{}"},
    {"type":"function_call_output","call_id":"c1","output":"1"},
    {"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"2"}]}])");
  const auto request = read_responses_request(body({{"input", input}}), kLimits);
  ASSERT_TRUE(request.ok()) << request.error().message;
  ASSERT_EQ(request->messages.size(), 5u);
  EXPECT_EQ(request->messages[0]["role"], "system");
  EXPECT_EQ(request->messages[2]["content"], "a");
  EXPECT_EQ(request->messages[2]["reasoning_content"], "t");
  EXPECT_EQ(request->messages[2]["tool_calls"].size(), 2u);
  EXPECT_EQ(request->messages[4]["content"], "2");
  EXPECT_EQ(request->messages[4]["tool_call_id"], "c2");
}

TEST(ResponsesRequest, ScoresAreAskedForByInclude) {
  const auto request = read_responses_request(
      body({{"include", {"message.output_text.logprobs"}}, {"top_logprobs", 2}}), kLimits);
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->fields.logprobs, 2);
}

TEST(ResponsesRequest, RefusesByItsOwnNames) {
  struct Case {
    Json change;
    const char* field;
  };
  const std::vector<Case> cases{
      {{{"previous_response_id", "resp_1"}}, "previous_response_id"},
      {{{"conversation", "c"}}, "conversation"},
      {{{"prompt", {{"id", "p"}}}}, "prompt"},
      {{{"background", true}}, "background"},
      {{{"truncation", "auto"}}, "truncation"},
      {{{"include", {"file_search_call.results"}}}, "include"},
      {{{"input", nullptr}}, "input"},
      {{{"input", 3}}, "input"},
      {{{"input", Json::array()}}, "input"},
      {{{"input", Json::array({{{"type", "item_reference"}, {"id", "x"}}})}}, "input[0].type"},
      {{{"input", Json::array({{{"role", "user"}, {"content", 3}}})}}, "input[0].content"},
      {{{"input", Json::array({{{"role", "bot"}, {"content", "a"}}})}}, "input[0].role"},
      {{{"tools", Json::array({{{"type", "web_search"}}})}}, "tools[0].type"},
      {{{"tools", Json::array({{{"type", "custom"}, {"name", "f"}}})}}, "tools[0].type"},
      {{{"max_output_tokens", 0}}, "max_output_tokens"},
      {{{"text", {{"format", {{"type", "yaml"}}}}}}, "text.format"},
      {{{"temperature", 9}}, "temperature"},
      {{{"stream_options", Json::object()}}, "stream_options"},
  };
  for (const Case& c : cases) {
    const auto request = read_responses_request(body(c.change), kLimits);
    ASSERT_FALSE(request.ok()) << c.change.dump();
    const Error error = in_own_words(request.error(), kResponsesAnswers.names);
    EXPECT_TRUE(error.field.starts_with(c.field)) << c.change.dump() << error.field;
    EXPECT_TRUE(error.message.starts_with(c.field)) << error.message;
    EXPECT_EQ(http_status(error), 400);
  }
}

}  // namespace
}  // namespace kantha::api
