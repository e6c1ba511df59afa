#include "engine/dialect/template_traits.h"

#include <gtest/gtest.h>

#include "engine/dialect/conversation.h"
#include "engine/dialect/forced_call.h"
#include "engine/dialect/output_parser.h"
#include "tests/engine/dialect/dialect_outputs.h"

namespace kantha::dialect {
namespace {

/// Stands for a template: writes a conversation as some model's would.
struct FakeTemplate {
  bool shows_tools = true;
  bool wants_text = false;  ///< adds the arguments as text and fails for objects
  bool short_ids = false;   ///< fails for other ids
  std::string open = {};    ///< before a call; empty: shows none
  std::string close = {};

  std::optional<std::string> operator()(const OrderedJson& messages,
                                        const OrderedJson& tools) const {
    std::string text = shows_tools && tools.is_array() ? dump_json(tools) + "\n" : std::string();
    for (const OrderedJson& message : messages) {
      text += "<" + message.value("role", "") + ">" + message.value("content", "");
      if (open.empty() || !message.contains("tool_calls")) {
        text += "<end>\n";
        continue;
      }
      for (const OrderedJson& call : message["tool_calls"]) {
        const OrderedJson& arguments = call["function"]["arguments"];
        if (wants_text != arguments.is_string()) return std::nullopt;
        if (short_ids && call.value("id", "").size() != 9) return std::nullopt;
        text += open + "{\"name\": " + dump_json(call["function"]["name"]) + ", \"arguments\": " +
                (wants_text ? arguments.get<std::string>() : dump_json(arguments)) + "}" + close;
      }
      text += "<end>\n";
    }
    return text;
  }
};

TEST(TemplateTraits, AreFoundByRendering) {
  const TemplateTraits plain = probe_template(FakeTemplate{.shows_tools = false});
  EXPECT_FALSE(plain.shows_tools);
  EXPECT_FALSE(plain.syntax.has_value());
  const TemplateTraits objects =
      probe_template(FakeTemplate{.open = "<call>\n", .close = "\n</call>"});
  EXPECT_TRUE(objects.shows_tools);
  EXPECT_TRUE(objects.shows_calls);
  EXPECT_FALSE(objects.arguments_as_text);
  EXPECT_FALSE(objects.short_ids);
  const TemplateTraits text =
      probe_template(FakeTemplate{.wants_text = true, .short_ids = true, .open = "<call>"});
  EXPECT_TRUE(text.arguments_as_text);
  EXPECT_TRUE(text.short_ids);
}

TEST(TemplateTraits, TellTheMarksAroundACall) {
  const auto syntax_of = [](const std::string& open, const std::string& close) {
    return probe_template(FakeTemplate{.open = open, .close = close}).syntax;
  };
  const ToolSyntax marks{.style = ToolStyle::kJson, .open = "<call>", .close = "</call>"};
  EXPECT_EQ(syntax_of("<call>\n", "\n</call>"), marks);
  EXPECT_EQ(syntax_of("\n<call>[", "]</call>"), marks);
  EXPECT_EQ(syntax_of("Action:", ""), (ToolSyntax{.style = ToolStyle::kJson, .open = "Action:"}));
  EXPECT_EQ(syntax_of(" ", ""), std::nullopt) << "nothing marks the call";
}

TEST(Dialect, WithMarksFromATemplateReadsItsCalls) {
  const FakeTemplate source{.open = "<|call|>[", .close = "]"};
  const Dialect dialect = choose_dialect("auto", "auto", "no known marks", source).value();
  EXPECT_FALSE(dialect.own_prompt);
  EXPECT_EQ(tool_syntax_name(dialect.tools), "template");
  const Parsed parsed = parse_pieces(
      {.tools = dialect.tools, .offered = example_tools()},
      {"Ok <|call|>[{\"name\": \"ping\", \"arguments\": {}}, {\"name\": \"add\"}] then"});
  EXPECT_EQ(parsed.content, "Ok  then");
  EXPECT_EQ(parsed.calls.size(), 2u);
}

TEST(Dialect, OfATemplateIsKnownByItsMarks) {
  struct Family {
    const char* source;
    const char* tools;
    const char* reasoning;
  };
  const Family families[] = {
      {"<tools> <tool_call> <think> </think>", "hermes", "<think>"},
      {"<tool_call>\n<function=x>\n<parameter=y>", "qwen3_coder", ""},
      {"[AVAILABLE_TOOLS] [TOOL_CALLS]", "mistral", ""},
      {"[TOOL_CALLS] [THINK] [/THINK]", "mistral", "[THINK]"},
      {"<|start_header_id|>ipython<|end_header_id|>", "llama3_json", ""},
      {"<|python_tag|>", "llama3_json", ""},
      {"<|tool_call_start|>[f()]<|tool_call_end|>", "pythonic", ""},
      {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜> </think>", "deepseek_v3", "<think>"},
  };
  const FakeTemplate render{.open = "<x>"};
  for (const Family& family : families) {
    const Dialect dialect = choose_dialect("auto", "auto", family.source, render).value();
    EXPECT_EQ(tool_syntax_name(dialect.tools), family.tools) << family.source;
    EXPECT_EQ(dialect.reasoning.open, family.reasoning) << family.source;
    EXPECT_FALSE(dialect.own_prompt) << family.source;
  }
  const Dialect none =
      choose_dialect("auto", "auto", "plain", FakeTemplate{.shows_tools = false}).value();
  EXPECT_TRUE(none.own_prompt);
  EXPECT_EQ(tool_syntax_name(none.tools), "hermes");
}

TEST(Dialect, IsWhatTheConfigurationSays) {
  const FakeTemplate render{.open = "<tool_call>"};
  const Dialect chosen = choose_dialect("mistral", "none", "<tool_call> </think>", render).value();
  EXPECT_EQ(tool_syntax_name(chosen.tools), "mistral");
  EXPECT_TRUE(chosen.reasoning.empty());
  EXPECT_FALSE(choose_dialect("nobody", "auto", "", render).ok());
  const auto fault = choose_dialect("auto", "nobody", "", render);
  ASSERT_FALSE(fault.ok());
  EXPECT_NE(fault.error().message.find("deepseek_r1"), std::string::npos);
}

TEST(Syntax, KnowsWhichPromptLeavesReasoningOpen) {
  const ReasoningSyntax think = reasoning_syntax_named("think").value();
  EXPECT_TRUE(leaves_reasoning_open(think, "<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(leaves_reasoning_open(think, "assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(leaves_reasoning_open(think, "assistant\n"));
  EXPECT_FALSE(leaves_reasoning_open({}, "<think>"));
}

OrderedJson history() {
  return OrderedJson::parse(R"([{"role":"user","content":"q"},
      {"role":"assistant","content":"","tool_calls":[{"id":"call_abc","type":"function",
       "function":{"name":"add","arguments":"{\"b\":1,\"a\":2}"}},{"id":"123456789",
       "type":"function","function":{"name":"add","arguments":"{broken"}}]},
      {"role":"tool","tool_call_id":"call_abc","content":"3"},
      {"role":"tool","tool_call_id":"123456789","content":"4"},
      {"role":"user","content":"and?"}])");
}

TEST(Conversation, GivesArgumentsAsTheTemplateWantsThem) {
  const Dialect objects;
  const OrderedJson shaped = messages_for(objects, history(), nullptr);
  const OrderedJson& calls = shaped[1]["tool_calls"];
  EXPECT_EQ(calls[0]["function"]["arguments"].dump(), R"({"b":1,"a":2})");
  EXPECT_EQ(calls[1]["function"]["arguments"], "{broken") << "history is not refused";
  EXPECT_EQ(calls[0]["id"], "call_abc");
  const Dialect text{.traits = {.arguments_as_text = true}};
  EXPECT_EQ(messages_for(text, history(), nullptr), history());
}

TEST(Conversation, GivesIdsAsTheTemplateWantsThem) {
  const Dialect mistral{.traits = {.short_ids = true}};
  const OrderedJson shaped = messages_for(mistral, history(), nullptr);
  const std::string id = shaped[1]["tool_calls"][0]["id"];
  EXPECT_EQ(id.size(), 9u);
  EXPECT_EQ(shaped[2]["tool_call_id"], id);
  EXPECT_EQ(shaped[1]["tool_calls"][1]["id"], "123456789");
}

TEST(Conversation, DescribesFunctionsWhereTheTemplateCannot) {
  const Dialect own{.own_prompt = true};
  const OrderedJson tools =
      OrderedJson::parse(R"([{"type":"function","function":{"name":"add"}}])");
  const OrderedJson shaped = messages_for(own, history(), tools);
  ASSERT_EQ(shaped.size(), 5u);
  EXPECT_EQ(shaped[0]["role"], "system");
  EXPECT_NE(shaped[0]["content"].get<std::string>().find("\"add\""), std::string::npos);
  EXPECT_FALSE(shaped[2].contains("tool_calls"));
  EXPECT_EQ(shaped[2]["content"],
            "<tool_call>\n{\"name\":\"add\",\"arguments\":{\"b\":1,\"a\":2}}\n</tool_call>\n"
            "<tool_call>\n{\"name\":\"add\",\"arguments\":\"{broken\"}\n</tool_call>");
  EXPECT_EQ(shaped[3]["role"], "user");
  EXPECT_EQ(shaped[3]["content"],
            "<tool_response>\n3\n</tool_response>\n<tool_response>\n4\n</tool_response>");
  EXPECT_TRUE(tools_for(own, tools).is_null());
  OrderedJson with_system = history();
  with_system.insert(with_system.begin(), OrderedJson{{"role", "system"}, {"content", "Be kind."}});
  const OrderedJson joined = messages_for(own, with_system, tools);
  EXPECT_EQ(joined.size(), 5u);
  EXPECT_TRUE(joined[0]["content"].get<std::string>().starts_with("Be kind.\n\nYou can call"));
}

TEST(ForcedCall, OpeningsAreReadAsTheBeginningOfACall) {
  for (const char* name :
       {"hermes", "llama3_json", "mistral", "pythonic", "deepseek_v3", "qwen3_coder"}) {
    const ToolSyntax syntax = tool_syntax_named(name).value();
    const std::string opening = call_opening(syntax, "ping");
    const bool has_members = std::string(name) != "pythonic" && std::string(name) != "qwen3_coder";
    const Parsed parsed = parse_pieces({.tools = syntax, .offered = example_tools()},
                                       {opening + (has_members ? " {" : "")});
    ASSERT_EQ(parsed.calls.size(), 1u) << name;
    EXPECT_EQ(parsed.calls[0].name, "ping") << name;
    EXPECT_EQ(parsed.calls[0].arguments, "{") << name;
    EXPECT_EQ(parsed.content, "") << name;
    EXPECT_TRUE(opening.starts_with(call_opening(syntax, ""))) << name;
    EXPECT_FALSE(call_opening(syntax, "").empty()) << name;
  }
  EXPECT_EQ(call_opening({}, "ping"), "");
}

}  // namespace
}  // namespace kantha::dialect
