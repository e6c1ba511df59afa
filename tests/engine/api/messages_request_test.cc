#include "engine/api/messages_request.h"

#include <gtest/gtest.h>

#include "engine/api/openai_error.h"

namespace kantha::api {
namespace {

constexpr RequestLimits kLimits{.vocabulary_size = 100, .context_max = 512};

Json message(const char* role, Json content) {
  return {{"role", role}, {"content", std::move(content)}};
}

Json block(const char* type, const char* text) { return {{"type", type}, {"text", text}}; }

Json body(Json more = Json::object()) {
  Json json{{"model", "m"}, {"max_tokens", 8}};
  json["messages"] = Json::array({message("user", "hi")});
  json.update(more);
  return json;
}

TEST(MessagesRequest, BecomesAConversation) {
  Json turns =
      Json::array({message("user", Json::array({block("text", "a"), block("text", "b")}))});
  const Json thinking{{"type", "thinking"}, {"thinking", "hm"}, {"signature", "s"}};
  const Json redacted{{"type", "redacted_thinking"}, {"data", "x"}};
  turns.push_back(message("assistant", Json::array({thinking, redacted, block("text", "c")})));
  turns.push_back(message("user", "d"));
  const auto request = read_messages_request(
      body({{"system", Json::array({block("text", "be brief")})}, {"messages", turns}}), kLimits);
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->messages.dump(),
            R"([{"role":"system","content":"be brief"},{"role":"user","content":"a\nb"},)"
            R"({"role":"assistant","content":"c","reasoning_content":"hm"},)"
            R"({"role":"user","content":"d"}])");
  EXPECT_EQ(request->fields.max_tokens, 8);
}

TEST(MessagesRequest, CallsAndResultsKeepTheirIds) {
  Json use{{"type", "tool_use"}, {"id", "t1"}, {"name", "f"}, {"input", {{"x", 1}}}};
  Json result{{"type", "tool_result"}, {"tool_use_id", "t1"}, {"content", "42"}};
  Json turns = Json::array({message("user", "go"), message("assistant", Json::array({use}))});
  turns.push_back(message("user", Json::array({result, block("text", "and?")})));
  const auto request = read_messages_request(body({{"messages", turns}}), kLimits);
  ASSERT_TRUE(request.ok()) << request.error().message;
  ASSERT_EQ(request->messages.size(), 4u);
  EXPECT_EQ(request->messages[1]["tool_calls"][0]["id"], "t1");
  EXPECT_EQ(request->messages[2]["role"], "tool");
  EXPECT_EQ(request->messages[2]["tool_call_id"], "t1");
  EXPECT_EQ(request->messages[2]["content"], "42");
  EXPECT_EQ(request->messages[3]["content"], "and?");
}

TEST(MessagesRequest, SystemMessagesJoinTheSystem) {
  const Json second = message("system", Json::array({block("text", "Second.")}));
  const Json turns = Json::array({second, message("user", "hi")});
  const auto request =
      read_messages_request(body({{"system", "First."}, {"messages", turns}}), kLimits);
  ASSERT_TRUE(request.ok()) << request.error().message;
  ASSERT_EQ(request->messages.size(), 2u);
  EXPECT_EQ(request->messages[0]["role"], "system");
  EXPECT_EQ(request->messages[0]["content"], "First.\nSecond.");
  const auto alone = read_messages_request(body({{"messages", Json::array({second})}}), kLimits);
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().field, "messages");
}

TEST(MessagesRequest, ClaudeCodesBillIsNotShown) {
  const Json bill = block("text", "x-anthropic-billing-header: cc_version=1; cch=3f2a;");
  const Json turns = Json::array({message("system", Json::array({bill})), message("user", "hi")});
  const Json system = Json::array({bill, block("text", "Be brief."), block("text", "Be kind.")});
  const auto request =
      read_messages_request(body({{"system", system}, {"messages", turns}}), kLimits);
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->messages[0]["content"], "Be brief.\nBe kind.");
  EXPECT_EQ(request->messages.size(), 2u);
}

TEST(MessagesRequest, OutputConfigHasEffortAndFormat) {
  const Json schema{{"type", "object"}, {"properties", {{"a", {{"type", "integer"}}}}}};
  const Json format{{"type", "json_schema"}, {"schema", schema}};
  const auto request =
      read_messages_request(body({{"output_config", {{"effort", "max"}, {"format", format}}},
                                  {"thinking", {{"type", "adaptive"}, {"display", "omitted"}}}}),
                            kLimits);
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->template_extra["reasoning_effort"], "max");
  EXPECT_EQ(request->template_extra["enable_thinking"], true);
  ASSERT_NE(request->fields.output, nullptr);
  EXPECT_EQ(request->fields.output->schema, OrderedJson(schema));
  const auto older = read_messages_request(body({{"output_format", format}}), kLimits);
  ASSERT_TRUE(older.ok()) << older.error().message;
  EXPECT_EQ(older->fields.output->schema, OrderedJson(schema));
  const auto quiet = read_messages_request(
      body({{"output_config", {{"effort", "high"}}}, {"thinking", {{"type", "disabled"}}}}),
      kLimits);
  ASSERT_TRUE(quiet.ok()) << quiet.error().message;
  EXPECT_EQ(quiet->template_extra["enable_thinking"], false);
  EXPECT_FALSE(quiet->template_extra.contains("reasoning_effort"));
}

TEST(MessagesRequest, SamplingReachesTheSameFields) {
  const auto request = read_messages_request(body({{"temperature", 0.5},
                                                   {"top_p", 0.25},
                                                   {"top_k", 3},
                                                   {"stream", true},
                                                   {"stop_sequences", {"x", "y"}},
                                                   {"metadata", {{"user_id", "u"}}},
                                                   {"max_tokens", 100'000}}),
                                             kLimits);
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->fields.temperature, 0.5);
  EXPECT_EQ(request->fields.top_p, 0.25);
  EXPECT_EQ(request->fields.top_k, 3);
  EXPECT_EQ(request->fields.stop, (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(request->fields.stream);
  EXPECT_EQ(request->fields.max_tokens, 512) << "a bound: the window";
  EXPECT_TRUE(request->fields.max_tokens_clamps);
}

TEST(MessagesRequest, RefusesByName) {
  struct Case {
    Json change;
    const char* field;
  };
  const Json image{{"type", "image"}, {"source", Json::object()}};
  const Json prefill = Json::array({message("user", "a"), message("assistant", "b")});
  const std::vector<Case> cases{
      {{{"max_tokens", nullptr}}, "max_tokens"},
      {{{"max_tokens", 0}}, "max_tokens"},
      {{{"messages", nullptr}}, "messages"},
      {{{"messages", Json::array()}}, "messages"},
      {{{"messages", Json::array({message("tool", "a")})}}, "messages[0].role"},
      {{{"messages", Json::array({message("assistant", Json::array({{{"type", "thinking"}}}))})}},
       "messages[0].content[0].thinking"},
      {{{"messages", Json::array({message("user", 3)})}}, "messages[0].content"},
      {{{"messages", Json::array({message("user", Json::array({image}))})}},
       "messages[0].content[0].type"},
      {{{"messages", prefill}}, "messages[1]"},
      {{{"system", 3}}, "system"},
      {{{"stop_sequences", "x"}}, "stop_sequences"},
      {{{"thinking", {{"type", "maybe"}}}}, "thinking.type"},
      {{{"thinking", {{"type", "enabled"}, {"budget_tokens", 0}}}}, "thinking.budget_tokens"},
      {{{"thinking", {{"budget_tokens", 8}}}}, "thinking.type"},
      {{{"output_config", 3}}, "output_config"},
      {{{"output_config", {{"format", {{"type", "text"}}}}}}, "output_config.format.type"},
      {{{"output_config", {{"format", {{"type", "json_schema"}}}}}}, "output_config.format.schema"},
      {{{"output_format", {{"schema", Json::object()}}}}, "output_format.type"},
      {{{"mcp_servers", Json::array({1})}}, "mcp_servers"},
      {{{"tools", Json::array({{{"type", "bash_20250124"}, {"name", "bash"}}})}}, "tools[0].type"},
      {{{"tools", Json::array({{{"name", "f"}}})}}, "tools[0].input_schema"},
      {{{"kantha", {{"return_token_ids", true}}}}, "kantha.return_token_ids"},
      {{{"temperature", "warm"}}, "temperature"},
  };
  for (const Case& c : cases) {
    const auto request = read_messages_request(body(c.change), kLimits);
    ASSERT_FALSE(request.ok()) << c.change.dump();
    EXPECT_EQ(request.error().field, c.field) << c.change.dump();
    EXPECT_EQ(http_status(request.error()), 400);
  }
}

TEST(MessagesRequest, CountingNeedsNoLimit) {
  Json json = body();
  json.erase("max_tokens");
  EXPECT_TRUE(read_count_tokens_request(json, kLimits).ok());
  EXPECT_FALSE(read_messages_request(json, kLimits).ok());
}

}  // namespace
}  // namespace kantha::api
