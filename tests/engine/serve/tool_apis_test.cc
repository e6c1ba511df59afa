#include <gtest/gtest.h>

#include <sstream>

#include "tests/engine/serve/tool_server.h"

// Functions and reasoning in Anthropic's, Ollama's and OpenAI's newer API.
namespace kantha::serve {
namespace {

using sched::FinishReason;

constexpr char kCall[] =
    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Åre\"}}\n</tool_call>";
constexpr char kPing[] = "<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>";

/// Everything that an answer can have.
std::string long_answer() {
  return "<think>Where?</think>I look.\n" + std::string(kCall) + "\n" + kPing;
}

constexpr char kSchema[] =
    R"({"type":"object","properties":{"city":{"type":"string"},"at":{"type":"string"}}})";

Json responses_tools() {
  return {{{"type", "function"}, {"name", "get_weather"}, {"parameters", Json::parse(kSchema)}},
          {{"type", "function"}, {"name", "ping"}}};
}

Json messages_tools() {
  return {{{"name", "get_weather"}, {"input_schema", Json::parse(kSchema)}},
          {{"name", "ping"}, {"input_schema", {{"type", "object"}}}}};
}

Json chat_tools() {
  return {{{"type", "function"},
           {"function", {{"name", "get_weather"}, {"parameters", Json::parse(kSchema)}}}},
          {{"type", "function"}, {"function", {{"name", "ping"}}}}};
}

Json response(Json more = Json::object()) {
  Json body{{"model", "m"}, {"input", "hi"}, {"tools", responses_tools()}, {"seed", 5}};
  body.update(more);
  return body;
}

Json message(Json more = Json::object()) {
  Json body = chat({{"max_tokens", 512}, {"tools", messages_tools()}, {"seed", 5}});
  body.update(more);
  return body;
}

Json ollama(Json more = Json::object()) {
  Json body = chat({{"tools", chat_tools()}, {"options", {{"seed", 5}}}});
  body.update(more);
  return body;
}

std::vector<Json> events_of(const std::string& raw) {
  std::vector<Json> events;
  std::istringstream lines(raw);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("data: ")) events.push_back(Json::parse(line.substr(6)));
  }
  return events;
}

Json posted(ToolServer& server, const char* path, const Json& body) {
  return Json::parse(server.served.post(path, body).body);
}

TEST(ResponsesTools, CallsAndReasoningAreItems) {
  ToolServer server(long_answer());
  const Json body = posted(server, "/v1/responses", response());
  ASSERT_EQ(body["output"].size(), 4u) << body;
  const Json& output = body["output"];
  EXPECT_EQ(output[0]["type"], "reasoning");
  EXPECT_EQ(output[0]["content"][0]["text"], "Where?");
  EXPECT_EQ(output[1]["type"], "message");
  EXPECT_EQ(output[1]["content"][0]["text"], "I look.");
  EXPECT_EQ(output[2]["type"], "function_call");
  EXPECT_EQ(output[2]["name"], "get_weather");
  EXPECT_EQ(output[2]["arguments"], "{\"city\": \"Åre\"}");
  EXPECT_TRUE(output[2]["call_id"].get<std::string>().starts_with("call_"));
  EXPECT_NE(output[2]["id"], output[3]["id"]);
  EXPECT_EQ(output[3]["name"], "ping");
  EXPECT_EQ(output[3]["status"], "completed");
  EXPECT_EQ(body["status"], "completed");
  EXPECT_GT(body["usage"]["output_tokens_details"]["reasoning_tokens"], 6);
  EXPECT_EQ(body["tools"], responses_tools()) << "as they were sent";
}

TEST(ResponsesTools, AStreamsEventsMakeTheWholeAnswer) {
  ToolServer server(long_answer());
  const Json whole = posted(server, "/v1/responses", response());
  const auto events =
      events_of(server.served.stream("/v1/responses", response({{"stream", true}})).raw);
  std::map<int, std::string> texts;
  std::map<int, std::string> arguments;
  Json added = Json::array();
  Json done = Json::array();
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Json& event = events[i];
    EXPECT_EQ(event["sequence_number"], i);
    const std::string type = event["type"];
    if (type == "response.output_item.added") added.push_back(event["item"]);
    if (type == "response.output_item.done") done.push_back(event["item"]);
    if (!event.contains("output_index")) continue;
    const int place = event["output_index"];
    EXPECT_EQ(place + 1u, added.size()) << "one item is open at a time: " << event;
    if (event.contains("item_id")) EXPECT_EQ(event["item_id"], added[place]["id"]);
    if (type.ends_with("text.delta")) texts[place] += event["delta"].get<std::string>();
    if (type.ends_with("arguments.delta")) arguments[place] += event["delta"].get<std::string>();
    if (type.ends_with("text.done")) EXPECT_EQ(event["text"], texts[place]);
    if (type.ends_with("arguments.done")) EXPECT_EQ(event["arguments"], arguments[place]);
  }
  EXPECT_EQ(texts, (std::map<int, std::string>{{0, "Where?"}, {1, "I look."}}));
  EXPECT_EQ(arguments, (std::map<int, std::string>{{2, "{\"city\": \"Åre\"}"}, {3, "{}"}}));
  const Json& last = events.back();
  EXPECT_EQ(last["type"], "response.completed");
  EXPECT_EQ(last["response"]["output"], done);
  ASSERT_EQ(done.size(), whole["output"].size());
  for (std::size_t i = 0; i < done.size(); ++i) {
    Json streamed = done[i];
    Json other = whole["output"][i];
    streamed.erase("id");
    other.erase("id");
    EXPECT_EQ(streamed, other);
  }
}

TEST(ResponsesTools, ACutCallIsIncomplete) {
  ToolServer server("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"ci",
                    FinishReason::kLength);
  const Json body = posted(server, "/v1/responses", response());
  EXPECT_EQ(body["status"], "incomplete");
  EXPECT_EQ(body["output"][0]["status"], "incomplete");
  EXPECT_EQ(body["output"][0]["arguments"], "{\"ci");
}

TEST(ResponsesTools, ResultsComeBackAsItems) {
  ToolServer server("Cold.");
  const Json input{{{"role", "user"}, {"content", "Weather?"}},
                   {{"type", "reasoning"},
                    {"summary", Json::array()},
                    {"content", {{{"type", "reasoning_text"}, {"text", "Where?"}}}}},
                   {{"type", "function_call"},
                    {"call_id", "c1"},
                    {"name", "get_weather"},
                    {"arguments", "{\"city\":\"Oslo\"}"}},
                   {{"type", "function_call_output"}, {"call_id", "c1"}, {"output", "-3"}}};
  const Json body = posted(server, "/v1/responses", response({{"input", input}}));
  EXPECT_EQ(body["output"][0]["content"][0]["text"], "Cold.") << body;
  const std::string prompt = prompt_of(server.served);
  EXPECT_NE(prompt.find(R"("arguments": {"city": "Oslo"})"), std::string::npos) << prompt;
  EXPECT_NE(prompt.find("tool\n-3"), std::string::npos) << prompt;
}

TEST(MessagesTools, CallsAndReasoningAreBlocks) {
  ToolServer server(long_answer());
  const Json body = posted(server, "/v1/messages", message());
  const Json& content = body["content"];
  ASSERT_EQ(content.size(), 4u) << body;
  EXPECT_EQ(content[0], Json::parse(R"({"type":"thinking","thinking":"Where?","signature":""})"));
  EXPECT_EQ(content[1]["text"], "I look.");
  EXPECT_EQ(content[2]["type"], "tool_use");
  EXPECT_EQ(content[2]["name"], "get_weather");
  EXPECT_EQ(content[2]["input"], Json({{"city", "Åre"}}));
  EXPECT_TRUE(content[2]["id"].get<std::string>().starts_with("toolu_"));
  EXPECT_EQ(content[3]["input"], Json::object());
  EXPECT_EQ(body["stop_reason"], "tool_use");
}

TEST(MessagesTools, AStreamsEventsMakeTheWholeAnswer) {
  ToolServer server(long_answer());
  const Json whole = posted(server, "/v1/messages", message());
  Json content = Json::array();
  std::string input;
  std::string stop_reason;
  bool open = false;
  int signatures = 0;
  for (const Json& event :
       events_of(server.served.stream("/v1/messages", message({{"stream", true}})).raw)) {
    const std::string type = event["type"];
    if (type == "content_block_start") {
      EXPECT_FALSE(std::exchange(open, true)) << "one block is open at a time";
      EXPECT_EQ(event["index"], content.size());
      content.push_back(event["content_block"]);
      input.clear();
    } else if (type == "content_block_delta") {
      EXPECT_EQ(event["index"], content.size() - 1);
      const Json& delta = event["delta"];
      for (const char* part : {"text", "thinking"}) {
        if (!delta.contains(part)) continue;
        content.back()[part] =
            content.back()[part].get<std::string>() + delta[part].get<std::string>();
      }
      input += delta.value("partial_json", "");
      signatures += delta["type"] == "signature_delta";
    } else if (type == "content_block_stop") {
      EXPECT_TRUE(std::exchange(open, false));
      if (!input.empty()) content.back()["input"] = Json::parse(input);
    } else if (type == "message_delta") {
      stop_reason = event["delta"]["stop_reason"];
    }
  }
  EXPECT_FALSE(open);
  EXPECT_EQ(signatures, 1) << "at the end of the thinking";
  EXPECT_EQ(content, whole["content"]);
  EXPECT_EQ(stop_reason, "tool_use");
}

TEST(MessagesTools, ChoicesAreThoseOfTheChat) {
  ToolServer server(kPing);
  const Json any = posted(server, "/v1/messages", message({{"tool_choice", {{"type", "any"}}}}));
  EXPECT_EQ(any["stop_reason"], "tool_use");
  EXPECT_EQ(server.served.engine().submitted().back().resumed,
            fake::byte_tokens("<tool_call>\n{\"name\": \""));
  const Json named = posted(server, "/v1/messages",
                            message({{"tool_choice", {{"type", "tool"}, {"name", "ping"}}}}));
  EXPECT_EQ(named["content"][0]["name"], "ping");
  EXPECT_EQ(named["stop_reason"], "tool_use") << "also where the chat API says stop";
  posted(server, "/v1/messages", message({{"tool_choice", {{"type", "none"}}}}));
  EXPECT_EQ(prompt_of(server.served).find("ping"), std::string::npos);
  ToolServer two(std::string(kPing) + "\n" + kPing);
  const Json choice{{"type", "auto"}, {"disable_parallel_tool_use", true}};
  EXPECT_EQ(posted(two, "/v1/messages", message({{"tool_choice", choice}}))["content"].size(), 1u);
}

TEST(MessagesTools, InputThatIsNoObjectIsKept) {
  ToolServer server("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"ci",
                    FinishReason::kLength);
  const Json body = posted(server, "/v1/messages", message());
  EXPECT_EQ(body["content"][0]["input"], Json({{"unparsed", "{\"ci"}}));
  EXPECT_EQ(body["stop_reason"], "max_tokens");
}

TEST(MessagesTools, ThinkingReachesTheTemplate) {
  ToolServer server("Hm.</think>Yes.");
  const Json on{{"type", "enabled"}, {"budget_tokens", 200}};
  const Json body = posted(server, "/v1/messages", message({{"thinking", on}}));
  EXPECT_EQ(body["content"][0]["thinking"], "Hm.") << body;
  EXPECT_EQ(body["content"][1]["text"], "Yes.");
  posted(server, "/v1/messages", message({{"thinking", {{"type", "disabled"}}}}));
  EXPECT_EQ(prompt_of(server.served).find("<think>"), std::string::npos);
  const Json short_one{{"type", "enabled"}, {"budget_tokens", 2}};
  posted(server, "/v1/messages", message({{"thinking", short_one}}));
  EXPECT_EQ(server.served.engine().submitted().back().resumed,
            fake::byte_tokens("Hm\n</think>\n\n"));
}

TEST(MessagesTools, ResultsComeBackAsBlocks) {
  ToolServer server("Cold.");
  const Json use{{"type", "tool_use"}, {"id", "t"}, {"name", "ping"}, {"input", {{"x", 1}}}};
  const Json result{{"type", "tool_result"}, {"tool_use_id", "t"}, {"content", "-3"}};
  const Json history{{{"role", "user"}, {"content", "Weather?"}},
                     {{"role", "assistant"}, {"content", {use}}},
                     {{"role", "user"}, {"content", {result}}}};
  const Json body = posted(server, "/v1/messages", message({{"messages", history}}));
  EXPECT_EQ(body["content"][0]["text"], "Cold.") << body;
  const std::string prompt = prompt_of(server.served);
  EXPECT_NE(prompt.find(R"("arguments": {"x": 1})"), std::string::npos) << prompt;
  EXPECT_NE(prompt.find("tool\n-3"), std::string::npos) << prompt;
}

TEST(MessagesTools, CountTokensCountsFunctions) {
  ToolServer server("Cold.");
  const Json whole = posted(server, "/v1/messages", message());
  Json body = message();
  body.erase("max_tokens");
  EXPECT_EQ(posted(server, "/v1/messages/count_tokens", body)["input_tokens"],
            whole["usage"]["input_tokens"]);
}

TEST(OllamaTools, CallsComeWhole) {
  ToolServer server(long_answer());
  const Json whole = posted(server, "/api/chat", ollama({{"stream", false}}))["message"];
  EXPECT_EQ(whole["thinking"], "Where?");
  EXPECT_EQ(whole["content"], "I look.");
  ASSERT_EQ(whole["tool_calls"].size(), 2u) << whole;
  EXPECT_EQ(whole["tool_calls"][0]["function"]["name"], "get_weather");
  EXPECT_EQ(whole["tool_calls"][0]["function"]["arguments"], Json({{"city", "Åre"}}));
  std::istringstream lines(server.served.stream("/api/chat", ollama()).raw);
  Json joined{{"content", ""}, {"thinking", ""}, {"tool_calls", Json::array()}};
  Json last;
  for (std::string line; std::getline(lines, line);) {
    last = Json::parse(line);
    const Json& part = last["message"];
    for (const char* name : {"content", "thinking"}) {
      joined[name] = joined[name].get<std::string>() + part.value(name, "");
    }
    for (const Json& call : part.value("tool_calls", Json::array())) {
      joined["tool_calls"].push_back(call);
    }
  }
  EXPECT_EQ(last["done"], true);
  EXPECT_EQ(last["done_reason"], "stop");
  for (const char* name : {"content", "thinking", "tool_calls"}) {
    EXPECT_EQ(joined[name], whole[name]);
  }
}

TEST(OllamaTools, ResultsAndThinkingComeBack) {
  ToolServer server("Cold.");
  const Json call{{"function", {{"name", "get_weather"}, {"arguments", {{"city", "Oslo"}}}}}};
  const Json history{{{"role", "user"}, {"content", "Weather?"}},
                     {{"role", "assistant"}, {"content", ""}, {"tool_calls", {call}}},
                     {{"role", "tool"}, {"tool_name", "get_weather"}, {"content", "-3"}}};
  const Json body = ollama({{"messages", history}, {"stream", false}, {"think", true}});
  EXPECT_EQ(posted(server, "/api/chat", body)["message"]["thinking"], "Cold.") << "still open";
  const std::string prompt = prompt_of(server.served);
  EXPECT_NE(prompt.find(R"("arguments": {"city": "Oslo"})"), std::string::npos) << prompt;
  EXPECT_NE(prompt.find("tool\n-3"), std::string::npos) << prompt;
  EXPECT_TRUE(prompt.ends_with("<think>\n")) << prompt;
  const Json no = ollama({{"stream", false}, {"think", false}});
  EXPECT_EQ(posted(server, "/api/chat", no)["message"]["content"], "Cold.");
}

TEST(OllamaTools, ShowTellsWhatAModelCanDo) {
  ToolServer server("x");
  const Json shown = posted(server, "/api/show", {{"model", "m"}});
  EXPECT_EQ(shown["capabilities"], Json::parse(R"(["completion","tools","thinking"])"));
}

TEST(ApiTools, SchemasKeepTheClientsOrderOfKeys) {
  // "city" comes before "at", which Json would sort.
  const std::string schema = kSchema;
  const auto in_text = [&](const std::string& before, const std::string& after,
                           const std::string& rest) {
    return "{\"model\":\"m\"," + rest + ",\"tools\":[" + before + schema + after + "]}";
  };
  const std::string turn = R"("messages":[{"role":"user","content":"hi"}])";
  const std::pair<const char*, std::string> cases[] = {
      {"/v1/responses",
       in_text(R"({"type":"function","name":"f","parameters":)", "}", R"("input":"hi")")},
      {"/v1/messages", in_text(R"({"name":"f","input_schema":)", "}", turn + R"(,"max_tokens":9)")},
      {"/api/chat",
       in_text(R"({"type":"function","function":{"name":"f","parameters":)", "}}", turn)}};
  for (const auto& [path, body] : cases) {
    ToolServer server("x");
    const auto answer = server.served.call("POST", path, body);
    ASSERT_EQ(answer.status, 200) << answer.body;
    const std::string prompt = prompt_of(server.served);
    const std::string shown =
        R"({"type": "object", "properties": {"city": {"type": "string"}, "at": )";
    EXPECT_NE(prompt.find(shown), std::string::npos) << path << prompt;
  }
}

TEST(ApiTools, FaultsAreToldInTheApisOwnWords) {
  ToolServer server("x");
  const Json bad_name{{"type", "function"}, {"name", "a b"}};
  const auto refused = [&](const char* path, const Json& body) {
    const auto answer = server.served.post(path, body);
    EXPECT_EQ(answer.status, 400) << answer.body;
    const Json error = Json::parse(answer.body)["error"];
    return error.is_string() ? error.get<std::string>() : error["message"].get<std::string>();
  };
  EXPECT_TRUE(
      refused("/v1/responses", response({{"tools", {bad_name}}})).starts_with("tools[0].name: "));
  EXPECT_TRUE(
      refused("/v1/responses", response({{"tool_choice", {{"type", "function"}, {"name", "no"}}}}))
          .starts_with("tool_choice.name: "));
  const Json list{{"name", "f"}, {"strict", true}, {"input_schema", {{"type", "array"}}}};
  EXPECT_TRUE(refused("/v1/messages", message({{"tools", {list}}}))
                  .starts_with("tools[0].input_schema.type: "));
  EXPECT_TRUE(refused("/v1/messages", message({{"thinking", {{"type", "maybe"}}}}))
                  .starts_with("thinking.type: "));
  EXPECT_TRUE(refused("/api/chat", ollama({{"think", 3}})).starts_with("think: "));
}

}  // namespace
}  // namespace kantha::serve
