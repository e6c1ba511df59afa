#include <gtest/gtest.h>

#include "engine/grammar/grammar.h"
#include "engine/sched/logit_rules.h"
#include "tests/engine/serve/tool_server.h"
#include "tests/fake/byte_vocabulary.h"

/// Functions and reasoning through a whole server: the model's part is scripted.
namespace kantha::serve {
namespace {

using sched::FinishReason;

constexpr char kOneCall[] =
    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Åre\"}}\n</tool_call>";

Json tools() {
  return Json::parse(R"([{"type":"function","function":{"name":"get_weather","parameters":
      {"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}},
      {"type":"function","function":{"name":"ping"}}])");
}

Json with_tools(Json more = Json::object()) {
  Json body{{"tools", tools()}, {"seed", 5}};
  body.update(more);
  return chat(body);
}

/// A stream's deltas joined to a message, as clients do it.
Json joined(const StreamedAnswer& answer) {
  Json message{{"content", ""}, {"reasoning", ""}, {"calls", Json::array()}};
  for (const Json& chunk : answer.chunks()) {
    for (const Json& choice : chunk["choices"]) {
      const Json& delta = choice["delta"];
      message["content"] = message["content"].get<std::string>() + delta.value("content", "");
      message["reasoning"] =
          message["reasoning"].get<std::string>() + delta.value("reasoning_content", "");
      for (const Json& call : delta.value("tool_calls", Json::array())) {
        Json& calls = message["calls"];
        const auto index = call["index"].get<std::size_t>();
        if (index == calls.size()) {
          calls.push_back(call);
          calls.back().erase("index");
        } else {
          EXPECT_FALSE(call.contains("id")) << "the id comes once";
          Json& arguments = calls[index]["function"]["arguments"];
          arguments =
              arguments.get<std::string>() + call["function"]["arguments"].get<std::string>();
        }
      }
      if (!choice["finish_reason"].is_null()) message["finish"] = choice["finish_reason"];
    }
  }
  return message;
}

TEST(ToolCalls, OfAWholeAnswerAreAMessagesCalls) {
  ToolServer server(kOneCall);
  const Json answer = server.whole(with_tools());
  const Json& choice = answer["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_TRUE(choice["message"]["content"].is_null());
  const Json& call = choice["message"]["tool_calls"][0];
  EXPECT_EQ(call["type"], "function");
  EXPECT_EQ(call["function"]["name"], "get_weather");
  EXPECT_EQ(call["function"]["arguments"], "{\"city\": \"Åre\"}");
  EXPECT_EQ(call["id"].get<std::string>().size(), 29u);
  EXPECT_EQ(answer["usage"]["completion_tokens"], std::string(kOneCall).size());
}

TEST(ToolCalls, OfAStreamJoinToThoseOfTheWholeAnswer) {
  const std::string two =
      "I look.\n" + std::string(kOneCall) + "\n<tool_call>\n{\"name\": \"ping\"}\n</tool_call>";
  ToolServer server(two);
  const Json whole = server.whole(with_tools())["choices"][0];
  const StreamedAnswer stream =
      server.served.stream("/v1/chat/completions", with_tools({{"stream", true}}));
  ASSERT_TRUE(stream.done());
  const Json message = joined(stream);
  EXPECT_EQ(message["content"], whole["message"]["content"]);
  EXPECT_EQ(message["content"], "I look.");
  EXPECT_EQ(message["calls"], whole["message"]["tool_calls"]);
  EXPECT_EQ(message["calls"].size(), 2u);
  EXPECT_EQ(message["finish"], "tool_calls");
  EXPECT_EQ(stream.raw.find("<tool_call>"), std::string::npos);
}

TEST(ToolCalls, StreamTheirArgumentsAsTheyAreMade) {
  ToolServer server(kOneCall);
  std::size_t parts = 0;
  for (const Json& chunk :
       server.served.stream("/v1/chat/completions", with_tools({{"stream", true}})).chunks()) {
    parts += chunk["choices"][0]["delta"].contains("tool_calls") ? 1 : 0;
  }
  EXPECT_GT(parts, 10u);
}

TEST(ToolCalls, FinishReasonsAreThoseOfOpenAi) {  // report B054
  const auto finish = [](FinishReason reason, const Json& more) {
    ToolServer server(kOneCall, reason);
    const Json whole = server.whole(with_tools(more))["choices"][0]["finish_reason"];
    Json streamed = more;
    streamed["stream"] = true;
    EXPECT_EQ(joined(server.served.stream("/v1/chat/completions", with_tools(streamed)))["finish"],
              whole);
    return whole;
  };
  EXPECT_EQ(finish(FinishReason::kStop, {{"tool_choice", "auto"}}), "tool_calls");
  EXPECT_EQ(finish(FinishReason::kStop, Json::object()), "tool_calls");
  EXPECT_EQ(finish(FinishReason::kLength, Json::object()), "length");
}

TEST(ToolCalls, OfOneNamedFunctionBeginWithItAndEndWithStop) {  // reports B054, B056
  ToolServer server("<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>");
  const Json named{{"type", "function"}, {"function", {{"name", "ping"}}}};
  for (const bool stream : {false, true}) {
    const Json body = with_tools({{"tool_choice", named}, {"stream", stream}});
    Json message;
    if (stream) {
      message = joined(server.served.stream("/v1/chat/completions", body));
    } else {
      const Json choice = server.whole(body)["choices"][0];
      message = {{"calls", choice["message"]["tool_calls"]}, {"finish", choice["finish_reason"]}};
    }
    ASSERT_EQ(message["calls"].size(), 1u) << message;
    EXPECT_EQ(message["calls"][0]["function"], Json({{"name", "ping"}, {"arguments", "{}"}}));
    EXPECT_EQ(message["finish"], "stop");
    const sched::GenerateSpec spec = server.served.engine().submitted().back();
    EXPECT_EQ(spec.resumed, fake::byte_tokens("<tool_call>\n{\"name\": \"ping\", \"arguments\":"));
  }
}

TEST(ToolCalls, ThatAreRequiredAreBegunForTheModel) {  // report B054
  ToolServer server(kOneCall);
  const Json body = with_tools({{"tool_choice", "required"}});
  const Json choice = server.whole(body)["choices"][0];
  EXPECT_EQ(choice["message"]["tool_calls"][0]["function"]["name"], "get_weather");
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_EQ(server.served.engine().submitted().back().resumed,
            fake::byte_tokens("<tool_call>\n{\"name\": \""));
}

TEST(ToolCalls, ThatMustComeAreNoContentWhereTheyAreCut) {
  ToolServer server(kOneCall);
  for (const int most : {1, 5, 12, 22}) {
    const Json choice =
        server.whole(with_tools({{"tool_choice", "required"}, {"max_tokens", most}}))["choices"][0];
    EXPECT_TRUE(choice["message"]["content"].is_null() || choice["message"]["content"] == "")
        << choice;
    EXPECT_FALSE(choice["message"].contains("tool_calls")) << choice;
  }
}

TEST(ToolCalls, ThatMustComeComeAfterTheReasoning) {
  ToolServer server("Hm.</think>" + std::string(kOneCall));
  const Json body = with_tools(
      {{"tool_choice", "required"}, {"chat_template_kwargs", {{"enable_thinking", true}}}});
  const Json message = server.whole(body)["choices"][0]["message"];
  EXPECT_EQ(message["reasoning_content"], "Hm.");
  EXPECT_EQ(message["tool_calls"].size(), 1u);
  const auto specs = server.served.engine().submitted();
  ASSERT_EQ(specs.size(), 2u) << "the engine goes on after the beginning of the call";
  EXPECT_TRUE(specs[0].resumed.empty());
  EXPECT_EQ(specs[1].resumed, fake::byte_tokens("Hm.</think><tool_call>\n{\"name\": \""));
}

/// Does the grammar of the last request take this answer whole?
bool holds(Served& served, const std::string& answer) {
  const auto rules = served.engine().submitted().back().rules;
  if (rules == nullptr || rules->grammar == nullptr) return false;
  grammar::GrammarState state(rules->grammar);
  return state.accept(std::string_view(answer)) && state.is_complete();
}

std::string weather_call(const std::string& arguments) {
  return "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": " + arguments + "}\n</tool_call>";
}

TEST(ToolCalls, ThatMustComeAreHeldToTheirSchemas) {
  ToolServer server(kOneCall);
  server.whole(with_tools({{"tool_choice", "required"}}));
  EXPECT_TRUE(holds(server.served, weather_call("{\"city\": \"Åre\"}")));
  EXPECT_TRUE(holds(server.served,
                    weather_call("{\"city\":\"a\"}") + "\n" + weather_call("{\"city\":\"b\"}")));
  EXPECT_FALSE(holds(server.served, weather_call("{\"city\": 3}")));
  EXPECT_FALSE(holds(server.served, weather_call("{}")));
  EXPECT_FALSE(holds(server.served, "Cold."));
  EXPECT_TRUE(holds(server.served,
                    "<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n"
                    "</tool_call>"));
  const Json named{{"type", "function"}, {"function", {{"name", "get_weather"}}}};
  server.whole(with_tools({{"tool_choice", named}}));
  EXPECT_TRUE(holds(server.served, weather_call("{\"city\": \"\"}")));
  EXPECT_FALSE(holds(server.served,
                     "<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n"
                     "</tool_call>"));
}

TEST(ToolCalls, OfStrictFunctionsAreHeldWhereverTheyCome) {
  ToolServer server(kOneCall);
  Json list = tools();
  list[0]["function"]["strict"] = true;
  server.whole(with_tools({{"tools", list}}));
  EXPECT_TRUE(holds(server.served, "Cold, isn't it?"));
  EXPECT_TRUE(holds(server.served, "I look.\n" + weather_call("{\"city\": \"a\"}") + "\nSo."));
  EXPECT_FALSE(holds(server.served, "I look.\n" + weather_call("{\"town\": 1}")));
  EXPECT_TRUE(holds(server.served,
                    "<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n"
                    "</tool_call>"));
  server.whole(with_tools());
  EXPECT_EQ(server.served.engine().submitted().back().rules, nullptr);
}

TEST(ToolCalls, SchemasThatCannotBeHeldAreRefusedWhereTheyAreStrict) {
  ToolServer server(kOneCall);
  Json list = tools();
  list[0]["function"]["parameters"]["properties"]["city"]["contentEncoding"] = "base64";
  list[0]["function"]["parameters"]["patternProperties"] = {{"^x", {{"type", "integer"}}}};
  list[0]["function"]["parameters"]["not"] = {{"required", {"x"}}};
  const Json loose = with_tools({{"tools", list}, {"tool_choice", "required"}});
  EXPECT_EQ(server.served.post("/v1/chat/completions", loose).status, 200);
  EXPECT_TRUE(holds(server.served, weather_call("{\"town\": 1}"))) << "some object";
  EXPECT_FALSE(holds(server.served, weather_call("[1]")));
  list[0]["function"]["strict"] = true;
  const auto refused = server.served.post("/v1/chat/completions", with_tools({{"tools", list}}));
  EXPECT_EQ(refused.status, 400);
  EXPECT_TRUE(error_key(refused, "param").starts_with("tools[0].function.parameters"))
      << refused.body;
}

TEST(ToolCalls, ThatComeAfterReasoningAreHeldAfterIt) {
  ToolServer server("Hm.</think>" + std::string(kOneCall));
  server.whole(with_tools({{"tool_choice", "required"},
                           {"kantha", {{"reasoning_tokens", 50}}},
                           {"chat_template_kwargs", {{"enable_thinking", true}}}}));
  EXPECT_TRUE(holds(server.served, "So {.</think>" + weather_call("{\"city\": \"a\"}")));
  EXPECT_TRUE(holds(server.served, "a\n</think>\n\n" + weather_call("{\"city\": \"a\"}")));
  EXPECT_FALSE(holds(server.served, "So.</think>" + weather_call("{}")));
  EXPECT_FALSE(holds(server.served, weather_call("{\"city\": \"a\"}")));
}

TEST(Reasoning, ComesBeforeAnAnswerOfAGivenShape) {
  const std::string shape = R"({"a":1})";
  const Json format{{"type", "json_object"}};
  ToolServer server("Hm.</think>" + shape);
  const Json open{{"response_format", format},
                  {"chat_template_kwargs", {{"enable_thinking", true}}}};
  const Json message = server.whole(chat(open))["choices"][0]["message"];
  EXPECT_EQ(message["reasoning_content"], "Hm.");
  EXPECT_EQ(message["content"], shape);
  EXPECT_TRUE(holds(server.served, "Hm.</think>" + shape));
  EXPECT_FALSE(holds(server.served, shape));
  // A model that opens it itself may, unless the request says no.
  ToolServer itself("<think>Hm.</think>" + shape);
  EXPECT_EQ(itself.whole(chat({{"response_format", format}}))["choices"][0]["message"]["content"],
            shape);
  EXPECT_TRUE(holds(itself.served, "<think>Hm.</think>\n\n" + shape));
  EXPECT_TRUE(holds(itself.served, shape));
  EXPECT_FALSE(holds(itself.served, "Hm." + shape));
  itself.whole(chat({{"response_format", format}, {"reasoning_effort", "none"}}));
  EXPECT_TRUE(holds(itself.served, shape));
  EXPECT_FALSE(holds(itself.served, "<think>Hm.</think>" + shape));
}

TEST(Reasoning, BeforeAShapeHasItsBudget) {
  Served served({.context_max = 2048, .chat_template = kToolTemplate});
  served.engine().on_submit([](const sched::GenerateSpec& spec) {
    if (spec.resumed.empty()) return fake::FakeReply{.tokens = fake::byte_tokens("abcdefgh")};
    return fake::FakeReply{.tokens = fake::byte_tokens("{}"), .end_token = fake::kTurnEnd};
  });
  const Json answer = Json::parse(
      served
          .post("/v1/chat/completions", chat({{"response_format", {{"type", "json_object"}}},
                                              {"chat_template_kwargs", {{"enable_thinking", true}}},
                                              {"thinking_token_budget", 4}}))
          .body);
  EXPECT_EQ(answer["choices"][0]["message"]["reasoning_content"], "abcd") << answer;
  EXPECT_EQ(answer["choices"][0]["message"]["content"], "{}");
  EXPECT_TRUE(holds(served, "abcd\n</think>\n\n{}"));
}

TEST(ToolCalls, AreContentWhenNobodyMayCall) {
  ToolServer server(kOneCall);
  for (const Json& body : {with_tools({{"tool_choice", "none"}}), chat()}) {
    const Json choice = server.whole(body)["choices"][0];
    EXPECT_EQ(choice["message"]["content"], kOneCall);
    EXPECT_FALSE(choice["message"].contains("tool_calls"));
    EXPECT_EQ(choice["finish_reason"], "stop");
    EXPECT_EQ(prompt_of(server.served).find("get_weather"), std::string::npos);
  }
}

TEST(ToolCalls, OfFunctionsThatAreNotOfferedAreContent) {
  ToolServer server("<tool_call>{\"name\":\"fly\",\"arguments\":{}}</tool_call>");
  const Json choice = server.whole(with_tools())["choices"][0];
  EXPECT_EQ(choice["message"]["content"],
            "<tool_call>{\"name\":\"fly\",\"arguments\":{}}</tool_call>");
  EXPECT_EQ(choice["finish_reason"], "stop");
}

TEST(ToolCalls, AreOneWhereTheClientWantsNoMore) {
  ToolServer server(std::string(kOneCall) + "\n" + kOneCall + "\nand so on");
  const Json answer = server.whole(with_tools({{"parallel_tool_calls", false}}));
  EXPECT_EQ(answer["choices"][0]["message"]["tool_calls"].size(), 1u);
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "tool_calls");
  EXPECT_LT(answer["usage"]["completion_tokens"], std::string(kOneCall).size());
}

TEST(ToolCalls, EachSampleHasIdsOfItsOwn) {
  ToolServer server(kOneCall);
  const Json choices = server.whole(with_tools({{"n", 2}}))["choices"];
  const auto id = [&choices](int i) { return choices[i]["message"]["tool_calls"][0]["id"]; };
  EXPECT_NE(id(0), id(1));
  EXPECT_EQ(id(0),
            server.whole(with_tools({{"n", 2}}))["choices"][0]["message"]["tool_calls"][0]["id"]);
}

TEST(ToolCalls, TheTemplateSeesFunctionsCallsAndResults) {
  ToolServer server("Cold.");
  const Json call{{"id", "call_1"},
                  {"type", "function"},
                  {"function", {{"name", "get_weather"}, {"arguments", "{\"city\":\"Oslo\"}"}}}};
  const Json messages{{{"role", "user"}, {"content", "Weather?"}},
                      {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", {call}}},
                      {{"role", "tool"}, {"tool_call_id", "call_1"}, {"content", "-3"}}};
  EXPECT_EQ(server.whole(with_tools({{"messages", messages}}))["choices"][0]["message"]["content"],
            "Cold.");
  const std::string prompt = prompt_of(server.served);
  EXPECT_NE(prompt.find(R"("arguments": {"city": "Oslo"})"), std::string::npos) << prompt;
  EXPECT_NE(prompt.find("tool\n-3"), std::string::npos) << prompt;
  EXPECT_NE(prompt.find(R"({"function": {"name": "ping"}, "type": "function"})"), std::string::npos)
      << prompt;
}

TEST(ToolCalls, AResumedStreamGoesOnWithoutGapOrRepeat) {
  const std::string output = "Look.\n" + std::string(kOneCall);
  ToolServer server(output);
  const Json whole =
      joined(server.served.stream("/v1/chat/completions", with_tools({{"stream", true}})));
  const std::vector<TokenId> tokens = fake::byte_tokens(output);
  for (std::size_t cut = 1; cut < tokens.size(); cut += 3) {
    // What a client has that was cut there: the chunks up to the last told token.
    const Json first_body =
        with_tools({{"stream", true}, {"kantha", {{"return_token_ids", true}}}});
    StreamedAnswer answer = server.served.stream("/v1/chat/completions", first_body);
    std::vector<TokenId> told;
    StreamedAnswer both;
    for (const std::string& payload : answer.payloads) {
      if (told.size() >= cut || payload == "[DONE]") break;
      for (const Json& id : Json::parse(payload)["kantha"]["token_ids"]) told.push_back(id);
      both.payloads.push_back(payload);
    }
    const Json next_body =
        with_tools({{"stream", true},
                    {"kantha", {{"return_token_ids", true}, {"resume", {{"token_ids", told}}}}}});
    for (const std::string& payload :
         server.served.stream("/v1/chat/completions", next_body).payloads) {
      both.payloads.push_back(payload);
    }
    ASSERT_EQ(joined(both), whole) << "cut after " << told.size();
  }
}

TEST(ToolCalls, StopStringsAreOnlyLookedForInTheContent) {
  ToolServer server("<think>a Oslo b</think>Go. " + std::string(kOneCall));
  const Json choice = server.whole(with_tools({{"stop", {"Åre", "Oslo"}}}))["choices"][0];
  EXPECT_EQ(choice["message"]["reasoning_content"], "a Oslo b");
  EXPECT_EQ(choice["message"]["tool_calls"].size(), 1u);
  ToolServer stopped("One Oslo two");
  const Json cut = stopped.whole(with_tools({{"stop", {"Oslo"}}}))["choices"][0];
  EXPECT_EQ(cut["message"]["content"], "One ");
  EXPECT_EQ(cut["finish_reason"], "stop");
}

TEST(Reasoning, IsToldApartFromTheAnswer) {
  ToolServer server("<think>\nFirst.\n</think>\n\nYes.");
  const Json answer = server.whole(chat());
  const Json& message = answer["choices"][0]["message"];
  EXPECT_EQ(message["reasoning_content"], "First.");
  EXPECT_EQ(message["reasoning"], "First.");
  EXPECT_EQ(message["content"], "Yes.");
  const auto tokens = answer["usage"]["completion_tokens_details"]["reasoning_tokens"];
  EXPECT_GT(tokens.get<int>(), 6);
  EXPECT_LT(tokens, answer["usage"]["completion_tokens"]);
  const Json stream =
      joined(server.served.stream("/v1/chat/completions", chat({{"stream", true}})));
  EXPECT_EQ(stream["reasoning"], "First.");
  EXPECT_EQ(stream["content"], "Yes.");
}

TEST(Reasoning, ThatTheTemplateOpensBeginsAtOnce) {
  ToolServer server("First.</think>Yes.");
  const Json open{{"chat_template_kwargs", {{"enable_thinking", true}}}};
  EXPECT_EQ(server.whole(chat(open))["choices"][0]["message"]["reasoning_content"], "First.");
  EXPECT_EQ(server.whole(chat())["choices"][0]["message"]["content"], "First.</think>Yes.");
}

TEST(Reasoning, IsLeftOutWhenTheClientDoesNotWantIt) {
  ToolServer server("<think>First.</think>Yes.");
  const Json message = server.whole(chat({{"include_reasoning", false}}))["choices"][0]["message"];
  EXPECT_FALSE(message.contains("reasoning_content"));
  EXPECT_EQ(message["content"], "Yes.");
}

TEST(Reasoning, ThatIsTooLongIsEndedForTheModel) {
  Served served({.context_max = 2048, .chat_template = kToolTemplate});
  served.engine().on_submit([](const sched::GenerateSpec& spec) {
    if (spec.resumed.empty()) return fake::FakeReply{.tokens = fake::byte_tokens("abcdefgh")};
    return fake::FakeReply{.tokens = fake::byte_tokens("Yes."), .end_token = fake::kTurnEnd};
  });
  for (const bool stream : {false, true}) {
    const Json body = chat({{"chat_template_kwargs", {{"enable_thinking", true}}},
                            {"kantha", {{"reasoning_tokens", 4}}},
                            {"stream", stream}});
    std::string reasoning;
    std::string content;
    if (stream) {
      const Json message = joined(served.stream("/v1/chat/completions", body));
      reasoning = message["reasoning"];
      content = message["content"];
    } else {
      const Json answer = Json::parse(served.post("/v1/chat/completions", body).body);
      reasoning = answer["choices"][0]["message"]["reasoning_content"];
      content = answer["choices"][0]["message"]["content"];
    }
    EXPECT_EQ(reasoning, "abcd");
    EXPECT_EQ(content, "Yes.");
    EXPECT_EQ(served.engine().submitted().back().resumed, fake::byte_tokens("abcd\n</think>\n\n"));
  }
  EXPECT_EQ(served.engine().open_requests(), 0u);
}

TEST(ToolCalls, BadFunctionsAreA400ThatNamesThePath) {
  Served served;
  const auto response =
      served.post("/v1/chat/completions", chat({{"tools", {{{"type", "function"}}}}}));
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(error_key(response, "param"), "tools[0].function");
}

TEST(ToolCalls, WorkWithATemplateThatKnowsNoFunctions) {
  Served served({.context_max = 2048});  // plain ChatML
  served.engine().on_submit([](const sched::GenerateSpec&) {
    return fake::FakeReply{.tokens = fake::byte_tokens(kOneCall)};
  });
  const auto response = served.post("/v1/chat/completions", with_tools());
  const Json choice = Json::parse(response.body)["choices"][0];
  EXPECT_EQ(choice["message"]["tool_calls"][0]["function"]["name"], "get_weather");
  const std::string prompt = prompt_of(served);
  EXPECT_NE(prompt.find("system\nYou can call functions"), std::string::npos) << prompt;
  EXPECT_NE(prompt.find("\"city\""), std::string::npos);
}

}  // namespace
}  // namespace kantha::serve
