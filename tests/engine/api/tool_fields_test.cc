#include "engine/api/tool_fields.h"

#include <gtest/gtest.h>

#include "engine/api/chat_request.h"
#include "engine/api/openai_error.h"

namespace kantha::api {
namespace {

constexpr RequestLimits kLimits{.vocabulary_size = 100, .context_max = 512};

Json tool(const std::string& name, Json more = Json::object()) {
  Json function{{"name", name}};
  function.update(more);
  return {{"type", "function"}, {"function", function}};
}

Json body(const Json& more) {
  Json json{{"messages", Json::array({{{"role", "user"}, {"content", "hi"}}})}};
  json.update(more);
  return json;
}

Result<ChatRequest> read(const Json& more) { return read_chat_request(body(more), kLimits); }

std::string fault(const Json& more) {
  const auto request = read(more);
  return request.ok() ? "none" : request.error().field;
}

TEST(ToolFields, OfferFunctionsForTheModelToCall) {
  const Json schema{{"type", "object"}, {"properties", {{"x", {{"type", "string"}}}}}};
  const auto request =
      read({{"tools", {tool("f", {{"parameters", schema}, {"strict", true}}), tool("g-1.x")}},
            {"parallel_tool_calls", false}});
  ASSERT_TRUE(request.ok()) << request.error().to_string();
  const ToolFields& tools = request->tools;
  EXPECT_EQ(tools.choice, ToolChoice::kAuto);
  EXPECT_FALSE(tools.parallel);
  ASSERT_EQ(tools.offered->size(), 2u);
  EXPECT_EQ((*tools.offered)[0].name, "f");
  EXPECT_TRUE((*tools.offered)[0].strict);
  EXPECT_EQ(Json((*tools.offered)[0].parameters), schema);
  EXPECT_TRUE((*tools.offered)[1].parameters.is_null());
  EXPECT_EQ(tools.listed.size(), 2u);
  EXPECT_GT(request->content_bytes, 100) << "the prompt will hold the functions";
}

TEST(ToolFields, ChoicesAreTheFourOfOpenAi) {
  const auto choice_of = [](const Json& choice) {
    return read({{"tools", {tool("f")}}, {"tool_choice", choice}})->tools;
  };
  EXPECT_EQ(choice_of("auto").choice, ToolChoice::kAuto);
  EXPECT_EQ(choice_of("required").choice, ToolChoice::kRequired);
  const ToolFields named = choice_of(tool("f"));
  EXPECT_EQ(named.choice, ToolChoice::kNamed);
  EXPECT_EQ(named.named, "f");
  const ToolFields none = choice_of("none");
  EXPECT_EQ(none.choice, ToolChoice::kNone);
  EXPECT_FALSE(none.offered);
  EXPECT_TRUE(none.listed.is_null()) << "the model does not hear of functions";
  EXPECT_EQ(read({{"tools", Json::array()}})->tools.choice, ToolChoice::kNone);
  EXPECT_EQ(read({{"tool_choice", "auto"}})->tools.choice, ToolChoice::kNone);
}

TEST(ToolFields, EachFaultNamesItsPlace) {
  const Json f = tool("f");
  EXPECT_EQ(fault({{"tools", 3}}), "tools");
  EXPECT_EQ(fault({{"tools", {3}}}), "tools[0]");
  EXPECT_EQ(fault({{"tools", {{{"function", {{"name", "f"}}}}}}}), "tools[0].type");
  EXPECT_EQ(fault({{"tools", {{{"type", "custom"}}}}}), "tools[0].type");
  EXPECT_EQ(fault({{"tools", {{{"type", "function"}}}}}), "tools[0].function");
  EXPECT_EQ(fault({{"tools", {f, {{"type", "function"}, {"function", Json::object()}}}}}),
            "tools[1].function.name");
  EXPECT_EQ(fault({{"tools", {tool("")}}}), "tools[0].function.name");
  EXPECT_EQ(fault({{"tools", {tool("a b")}}}), "tools[0].function.name");
  EXPECT_EQ(fault({{"tools", {tool(std::string(129, 'a'))}}}), "tools[0].function.name");
  EXPECT_EQ(fault({{"tools", {f, f}}}), "tools[1].function.name");
  EXPECT_EQ(fault({{"tools", {tool("f", {{"parameters", "x"}})}}}), "tools[0].function.parameters");
  EXPECT_EQ(fault({{"tools", {tool("f", {{"parameters", {{"type", "string"}}}})}}}),
            "tools[0].function.parameters.type");
  EXPECT_EQ(fault({{"tools", {tool("f", {{"strict", 1}})}}}), "tools[0].function.strict");
  EXPECT_EQ(fault({{"tools", {tool("f", {{"description", 1}})}}}), "tools[0].function.description");
  EXPECT_EQ(fault({{"tools", {f}}, {"tool_choice", "any"}}), "tool_choice");
  EXPECT_EQ(fault({{"tools", {f}}, {"tool_choice", 1}}), "tool_choice");
  EXPECT_EQ(fault({{"tools", {f}}, {"tool_choice", {{"type", "function"}}}}),
            "tool_choice.function");
  EXPECT_EQ(fault({{"tools", {f}}, {"tool_choice", tool("g")}}), "tool_choice.function.name");
  EXPECT_EQ(fault({{"tool_choice", "required"}}), "tool_choice");
  EXPECT_EQ(fault({{"tools", {f}}, {"parallel_tool_calls", "yes"}}), "parallel_tool_calls");
}

TEST(ToolFields, LimitsAreNamed) {
  Json many = Json::array();
  for (int i = 0; i < 128; ++i) many.push_back(tool("f" + std::to_string(i)));
  EXPECT_EQ(fault({{"tools", many}}), "none");
  many.push_back(tool("last"));
  EXPECT_EQ(fault({{"tools", many}}), "tools");
  const auto large = read({{"tools", {tool("f", {{"description", std::string(300'000, 'x')}})}}});
  ASSERT_FALSE(large.ok());
  EXPECT_NE(large.error().message.find("262144"), std::string::npos) << large.error().message;
}

TEST(ToolFields, KeepTheClientsOrderOfKeys) {
  const std::string text =
      R"({"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":)"
      R"({"name":"f","description":"d","parameters":{"type":"object","properties":)"
      R"({"z":{"type":"string"},"a":{"type":"integer"}}}}}]})";
  const OrderedJson ordered = OrderedJson::parse(text);
  auto request = read_chat_request(Json::parse(text), kLimits);
  ASSERT_TRUE(request.ok());
  keep_order(text, request->tools);
  EXPECT_EQ(request->tools.listed.dump(), ordered["tools"].dump());
  EXPECT_EQ((*request->tools.offered)[0].parameters["properties"].begin().key(), "z");
}

TEST(ReasoningFields, AreATemplatesVariablesAndABudget) {
  const auto request = read({{"reasoning_effort", "low"}, {"thinking_token_budget", 7}});
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->template_extra["reasoning_effort"], "low");
  EXPECT_FALSE(request->template_extra.contains("enable_thinking"));
  EXPECT_EQ(request->reasoning.tokens_max, 7);
  const auto none = read({{"reasoning_effort", "none"}, {"kantha", {{"reasoning_tokens", 0}}}});
  EXPECT_EQ(none->template_extra["enable_thinking"], false);
  EXPECT_EQ(none->reasoning.tokens_max, 0);
  const auto own =
      read({{"reasoning_effort", "none"}, {"chat_template_kwargs", {{"enable_thinking", true}}}});
  EXPECT_EQ(own->template_extra["enable_thinking"], true);
  EXPECT_FALSE(read({{"include_reasoning", false}})->reasoning.included);
  EXPECT_EQ(fault({{"reasoning_effort", "much"}}), "reasoning_effort");
  EXPECT_EQ(fault({{"thinking_token_budget", -1}}), "thinking_token_budget");
  EXPECT_EQ(fault({{"thinking_token_budget", 1}, {"kantha", {{"reasoning_tokens", 2}}}}),
            "kantha.reasoning_tokens");
}

TEST(ChatRequest, EarlierReasoningAndCallsReachTheTemplate) {
  const auto request = read({{"messages",
                              {{{"role", "user"}, {"content", "q"}},
                               {{"role", "assistant"},
                                {"content", nullptr},
                                {"reasoning_content", "hm"},
                                {"tool_calls",
                                 {{{"id", "c"},
                                   {"type", "function"},
                                   {"function", {{"name", "f"}, {"arguments", "{}"}}}}}}},
                               {{"role", "tool"}, {"tool_call_id", "c"}, {"content", "42"}}}}});
  ASSERT_TRUE(request.ok()) << request.error().to_string();
  EXPECT_EQ(request->messages[1]["reasoning_content"], "hm");
  EXPECT_EQ(request->messages[1]["content"], "");
  EXPECT_EQ(request->messages[2]["tool_call_id"], "c");
}

}  // namespace
}  // namespace kantha::api
