#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "engine/serve/infill_prompt.h"
#include "tests/engine/serve/served.h"
#include "tests/fake/byte_vocabulary.h"

// Anthropic's, Ollama's and OpenAI's newer API over HTTP: shapes of answers, streams and errors.
namespace kantha::serve {
namespace {

using fake::byte_tokens;
using fake::FakeReply;
using sched::FinishReason;

void say(Served& served, const std::string& text,
         std::optional<FinishReason> finish = FinishReason::kStop) {
  served.engine().on_submit([text, finish](const sched::GenerateSpec&) {
    FakeReply reply{.tokens = byte_tokens(text), .finish = finish};
    if (finish == FinishReason::kStop) reply.end_token = fake::kTurnEnd;
    return reply;
  });
}

Json messages(Json more = Json::object()) {
  Json body = chat({{"max_tokens", 64}});
  body.update(more);
  return body;
}

Json response(Json more = Json::object()) {
  Json body{{"model", "m"}, {"input", "hi"}};
  body.update(more);
  return body;
}

/// (event, data) of a stream with named events.
std::vector<std::pair<std::string, Json>> events_of(const std::string& raw) {
  std::vector<std::pair<std::string, Json>> events;
  std::istringstream lines(raw);
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("event: ")) name = line.substr(7);
    if (line.starts_with("data: ")) events.emplace_back(name, Json::parse(line.substr(6)));
  }
  return events;
}

std::vector<Json> lines_of(const std::string& raw) {
  std::vector<Json> objects;
  std::istringstream lines(raw);
  for (std::string line; std::getline(lines, line);) objects.push_back(Json::parse(line));
  return objects;
}

TEST(Messages, AWholeAnswerIsAMessage) {
  Served served;
  say(served, "Paris.");
  const auto answer = served.post("/v1/messages", messages({{"system", "s"}}));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json body = Json::parse(answer.body);
  EXPECT_TRUE(body["id"].get<std::string>().starts_with("msg_"));
  EXPECT_EQ(body["type"], "message");
  EXPECT_EQ(body["role"], "assistant");
  EXPECT_EQ(body["content"], Json::parse(R"([{"type":"text","text":"Paris."}])"));
  EXPECT_EQ(body["stop_reason"], "end_turn");
  EXPECT_EQ(body["stop_sequence"], nullptr);
  EXPECT_EQ(body["usage"]["output_tokens"], 7);
  EXPECT_GT(body["usage"]["input_tokens"], 21) << "the system's words count";
}

TEST(Messages, AnAnswerWithoutAnythingHasOneEmptyBlock) {
  Served served;
  say(served, "");
  const Json whole = Json::parse(served.post("/v1/messages", messages()).body);
  EXPECT_EQ(whole["content"], Json::parse(R"([{"type":"text","text":""}])"));
  const std::string raw = served.stream("/v1/messages", messages({{"stream", true}})).raw;
  EXPECT_NE(raw.find("event: content_block_stop"), std::string::npos) << raw;
}

TEST(Messages, ErrorsNameItsOwnFieldsOfOutput) {
  Served served;
  const auto param = [&](const Json& change) {
    return served.post("/v1/messages", messages(change)).body;
  };
  EXPECT_NE(param({{"output_config", {{"effort", "huge"}}}}).find("output_config.effort: expected"),
            std::string::npos);
  const Json format{{"type", "json_schema"}, {"schema", {{"type", "nothing"}}}};
  EXPECT_NE(param({{"output_config", {{"format", format}}}}).find("output_config.format.schema"),
            std::string::npos);
}

TEST(Messages, AStopSequenceIsNamed) {
  Served served;
  say(served, "one END two");
  const Json wish{{"stop_sequences", {"STOP", "END"}}};
  const Json whole = Json::parse(served.post("/v1/messages", messages(wish)).body);
  EXPECT_EQ(whole["stop_reason"], "stop_sequence");
  EXPECT_EQ(whole["stop_sequence"], "END");
  EXPECT_EQ(whole["content"][0]["text"], "one ");
  Json streamed = messages(wish);
  streamed["stream"] = true;
  const auto events = events_of(served.stream("/v1/messages", streamed).raw);
  ASSERT_GE(events.size(), 2u);
  EXPECT_EQ(events[events.size() - 2].second["delta"]["stop_sequence"], "END");
}

TEST(Messages, AStreamHasItsEventsInOrder) {
  Served served;
  say(served, "ab", FinishReason::kLength);
  const auto answer = served.stream("/v1/messages", messages({{"stream", true}}));
  EXPECT_EQ(answer.content_type, "text/event-stream; charset=utf-8");
  std::string names;
  std::string text;
  Json end;
  for (const auto& [name, data] : events_of(answer.raw)) {
    EXPECT_EQ(data["type"], name);
    if (name == "content_block_delta") text += data["delta"]["text"].get<std::string>();
    if (name == "message_delta") end = data;
    if (!names.ends_with(name + " ")) names += name + " ";
  }
  EXPECT_EQ(names,
            "message_start content_block_start content_block_delta content_block_stop "
            "message_delta message_stop ");
  EXPECT_EQ(text, "ab");
  EXPECT_EQ(end["delta"]["stop_reason"], "max_tokens");
  EXPECT_EQ(end["usage"]["output_tokens"], 2);
}

TEST(Messages, ErrorsAreAnthropics) {
  Served served;
  struct Case {
    Json body;
    int status;
    const char* type;
  };
  const std::vector<Case> cases{
      {messages({{"max_tokens", nullptr}}), 400, "invalid_request_error"},
      {messages({{"model", "other"}}), 404, "not_found_error"},
      {messages(
           {{"messages", Json::array({{{"role", "user"}, {"content", std::string(600, 'x')}}})}}),
       400, "invalid_request_error"},
  };
  for (const Case& c : cases) {
    const auto answer = served.post("/v1/messages", c.body);
    EXPECT_EQ(answer.status, c.status) << answer.body;
    const Json body = Json::parse(answer.body);
    EXPECT_EQ(body["type"], "error");
    EXPECT_EQ(body["error"]["type"], c.type);
    EXPECT_FALSE(body["error"]["message"].get<std::string>().empty());
  }
  const auto wrong = served.call("GET", "/v1/messages");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(Json::parse(wrong.body)["type"], "error");
  EXPECT_EQ(Json::parse(served.call("POST", "/v1/messages", "{").body)["type"], "error");
}

TEST(Messages, QueueLimitsAreTheirs) {
  Served served;
  served.engine().refuse(
      ok_status(),
      Error{.code = Code::kResourceExhausted, .message = "full", .retry_after_ms = 2000});
  const auto answer = served.post("/v1/messages", messages());
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.headers.find("retry-after"), "2");
  EXPECT_EQ(Json::parse(answer.body)["error"]["type"], "rate_limit_error");
  EXPECT_EQ(served.engine().submitted().size(), 0u);
}

TEST(Messages, AFailedStreamEndsWithAnErrorEvent) {
  Served served;
  served.engine().on_submit([](const sched::GenerateSpec&) {
    return FakeReply{.tokens = byte_tokens("a"), .finish = FinishReason::kError, .error = "broken"};
  });
  const auto events = events_of(served.stream("/v1/messages", messages({{"stream", true}})).raw);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().first, "error");
  EXPECT_EQ(events.back().second["error"]["type"], "api_error");
}

TEST(Messages, CountTokensIsWhatAMessageCosts) {
  Served served;
  say(served, "x");
  Json body = messages();
  const Json whole = Json::parse(served.post("/v1/messages", body).body);
  body.erase("max_tokens");
  const auto counted = served.post("/v1/messages/count_tokens", body);
  ASSERT_EQ(counted.status, 200) << counted.body;
  EXPECT_EQ(Json::parse(counted.body)["input_tokens"], whole["usage"]["input_tokens"]);
  const auto refused = served.post("/v1/messages/count_tokens", Json::object());
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(Json::parse(refused.body)["type"], "error");
}

TEST(Messages, ABoundBeyondTheWindowIsWhatTheWindowLeaves) {
  Served served;
  say(served, "x");
  ASSERT_EQ(served.post("/v1/messages", messages({{"max_tokens", 32'000}})).status, 200);
  EXPECT_EQ(served.engine().submitted().at(0).max_tokens, 512 - 21);
}

TEST(Responses, AWholeAnswerIsAResponse) {
  Served served;
  say(served, "Paris.");
  const auto answer = served.post("/v1/responses", response({{"instructions", "s"},
                                                             {"temperature", 0},
                                                             {"store", true},
                                                             {"prompt_cache_key", "k"},
                                                             {"safety_identifier", "u"},
                                                             {"reasoning", {{"effort", "low"}}}}));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json body = Json::parse(answer.body);
  EXPECT_EQ(body["object"], "response");
  EXPECT_TRUE(body["id"].get<std::string>().starts_with("resp_"));
  EXPECT_EQ(body["status"], "completed");
  EXPECT_EQ(body["store"], false) << "nothing is stored, whatever was asked for";
  EXPECT_EQ(body["instructions"], "s");
  EXPECT_EQ(body["prompt_cache_key"], "k");
  EXPECT_EQ(body["safety_identifier"], "u");
  EXPECT_EQ(body["reasoning"], (Json{{"effort", "low"}, {"summary", nullptr}}));
  EXPECT_EQ(body["temperature"], 0);
  EXPECT_EQ(body["output"][0]["content"][0]["text"], "Paris.");
  EXPECT_EQ(body["usage"]["output_tokens"], 7);
  EXPECT_EQ(body["usage"]["total_tokens"], body["usage"]["input_tokens"].get<int>() + 7);
}

TEST(Responses, AStreamNumbersItsEvents) {
  Served served;
  say(served, "ab", FinishReason::kLength);
  const auto events = events_of(served.stream("/v1/responses", response({{"stream", true}})).raw);
  std::string text;
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].second["sequence_number"], i);
    EXPECT_EQ(events[i].second["type"], events[i].first);
    if (events[i].first == "response.output_text.delta")
      text += events[i].second["delta"].get<std::string>();
  }
  ASSERT_GE(events.size(), 9u);
  EXPECT_EQ(events[0].first, "response.created");
  EXPECT_EQ(events[1].first, "response.in_progress");
  EXPECT_EQ(events[2].first, "response.output_item.added");
  EXPECT_EQ(events[3].first, "response.content_part.added");
  EXPECT_EQ(text, "ab");
  const auto& [name, last] = events.back();
  EXPECT_EQ(name, "response.incomplete");
  EXPECT_EQ(last["response"]["incomplete_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(last["response"]["output"][0]["content"][0]["text"], "ab");
}

TEST(Responses, AFailedStreamEndsWithAFailedResponse) {
  Served served;
  served.engine().on_submit([](const sched::GenerateSpec&) {
    return FakeReply{.tokens = {}, .finish = FinishReason::kError, .error = "broken"};
  });
  const auto events = events_of(served.stream("/v1/responses", response({{"stream", true}})).raw);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().first, "response.failed");
  EXPECT_EQ(events.back().second["response"]["status"], "failed");
  EXPECT_EQ(events.back().second["response"]["error"]["code"], "server_error");
}

TEST(Responses, ErrorsNameTheirOwnFields) {
  Served served;
  struct Case {
    Json change;
    const char* param;
  };
  const std::vector<Case> cases{
      {{{"previous_response_id", "resp_1"}}, "previous_response_id"},
      {{{"input", std::string(600, 'x')}}, "input"},
      {{{"tools", Json::array({{{"type", "function"}, {"name", 3}}})}}, "tools"},
  };
  for (const Case& c : cases) {
    const auto answer = served.post("/v1/responses", response(c.change));
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_TRUE(error_key(answer, "param").starts_with(c.param)) << answer.body;
  }
}

TEST(Ollama, AWholeChatHasItsCounters) {
  Served served;
  say(served, "Paris.");
  const auto answer = served.post("/api/chat", chat({{"stream", false}}));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json body = Json::parse(answer.body);
  EXPECT_EQ(body["message"]["content"], "Paris.");
  EXPECT_EQ(body["done"], true);
  EXPECT_EQ(body["done_reason"], "stop");
  EXPECT_EQ(body["prompt_eval_count"], 21);
  EXPECT_EQ(body["eval_count"], 7);
  EXPECT_EQ(body["load_duration"], 0);
  EXPECT_GT(body["total_duration"], 0);
  EXPECT_GE(body["total_duration"],
            body["prompt_eval_duration"].get<long>() + body["eval_duration"].get<long>());
}

TEST(Ollama, StreamsAreLines) {
  Served served;
  say(served, "ab", FinishReason::kLength);
  for (const char* path : {"/api/chat", "/api/generate"}) {
    const Json body = path[5] == 'c' ? chat() : completion();
    const auto answer = served.stream(path, body);
    EXPECT_EQ(answer.content_type, "application/x-ndjson");
    const std::vector<Json> lines = lines_of(answer.raw);
    ASSERT_GE(lines.size(), 2u);
    std::string text;
    for (const Json& line : lines) {
      const Json& piece = path[5] == 'c' ? line["message"]["content"] : line["response"];
      text += piece.get<std::string>();
      EXPECT_EQ(line["done"], &line == &lines.back());
    }
    EXPECT_EQ(text, "ab");
    EXPECT_EQ(lines.back()["done_reason"], "length");
    EXPECT_EQ(lines.back()["eval_count"], 2);
  }
}

TEST(Ollama, RawPromptsHaveNoTemplate) {
  Served served;
  say(served, "x");
  ASSERT_EQ(served.post("/api/generate", completion({{"raw", true}, {"stream", false}})).status,
            200);
  ASSERT_EQ(served.post("/api/generate", completion({{"stream", false}})).status, 200);
  const auto specs = served.engine().submitted();
  EXPECT_EQ(specs.at(0).prompt, byte_tokens("hi"));
  EXPECT_GT(specs.at(1).prompt.size(), 2u);
}

TEST(Ollama, ErrorsAreOneWord) {
  Served served;
  for (const char* path : {"/api/chat", "/api/generate", "/api/show"}) {
    const auto answer =
        served.post(path, {{"model", "other"}, {"prompt", "a"}, {"messages", chat()["messages"]}});
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_TRUE(Json::parse(answer.body)["error"].is_string()) << answer.body;
  }
  const auto field = served.post("/api/chat", chat({{"options", {{"top_k", "x"}}}}));
  EXPECT_EQ(field.status, 400);
  EXPECT_TRUE(Json::parse(field.body)["error"].get<std::string>().starts_with("options.top_k: "))
      << field.body;
}

TEST(Ollama, AFailedStreamEndsWithAnErrorLine) {
  Served served;
  served.engine().on_submit([](const sched::GenerateSpec&) {
    return FakeReply{.tokens = byte_tokens("a"), .finish = FinishReason::kError, .error = "broken"};
  });
  const auto lines = lines_of(served.stream("/api/chat", chat()).raw);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back()["error"], "broken");
}

TEST(Ollama, TellsItsModel) {
  Served served;
  const Json tags = Json::parse(served.call("GET", "/api/tags").body);
  ASSERT_EQ(tags["models"].size(), 1u);
  EXPECT_EQ(tags["models"][0]["name"], "m");
  EXPECT_EQ(tags["models"][0]["modified_at"], "1970-01-01T00:00:17Z");
  const Json show = Json::parse(served.post("/api/show", {{"model", "m"}}).body);
  EXPECT_EQ(show["capabilities"], Json::array({"completion", "tools"}));
  EXPECT_FALSE(show["template"].get<std::string>().empty());
  EXPECT_TRUE(Json::parse(served.call("GET", "/api/version").body)["version"].is_string());
}

TEST(Embeddings, AreUnitVectorsOfEveryInput) {
  Served served;
  served.engine().on_submit([](const sched::GenerateSpec& spec) {
    const double first = spec.prompt.size() == 1 ? 3 : -3;
    return FakeReply{.finish = FinishReason::kLength, .pooled = {first, 4}};
  });
  const auto answer = served.post("/v1/embeddings", {{"input", {"a", "bcd"}}, {"model", "m"}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json body = Json::parse(answer.body);
  EXPECT_EQ(body["object"], "list");
  EXPECT_EQ(body["usage"], (Json{{"prompt_tokens", 4}, {"total_tokens", 4}}));
  ASSERT_EQ(body["data"].size(), 2u);
  EXPECT_EQ(body["data"][1]["index"], 1);
  EXPECT_EQ(body["data"][1]["object"], "embedding");
  EXPECT_FLOAT_EQ(body["data"][0]["embedding"][0].get<float>(), 0.6F);
  EXPECT_FLOAT_EQ(body["data"][1]["embedding"][0].get<float>(), -0.6F);
  EXPECT_FLOAT_EQ(body["data"][1]["embedding"][1].get<float>(), 0.8F);
  const auto specs = served.engine().submitted();
  EXPECT_EQ(specs.at(0).pooling, sched::Pooling::kMean);
  EXPECT_EQ(specs.at(0).prompt_logprobs, 0) << "a row of every token";
  EXPECT_EQ(specs.at(0).max_tokens, 0);
}

TEST(Embeddings, OfTheLastTokenAsBase64) {
  Served served;
  served.engine().on_submit([](const sched::GenerateSpec&) {
    return FakeReply{.finish = FinishReason::kLength, .pooled = {2, 0}};
  });
  const Json wish{{"input", "a"}, {"pooling", "last"}, {"encoding_format", "base64"}};
  const auto answer = served.post("/v1/embeddings", wish);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(Json::parse(answer.body)["data"][0]["embedding"], "AACAPwAAAAA=");
  EXPECT_EQ(served.engine().submitted().at(0).pooling, sched::Pooling::kLast);
  EXPECT_EQ(served.engine().submitted().at(0).prompt_logprobs, -1);
}

TEST(Embeddings, OfAModelThatWantsEosEndTheirTextsWithIt) {
  Served served({.add_eos = true});
  served.engine().on_submit([](const sched::GenerateSpec&) {
    return FakeReply{.finish = FinishReason::kLength, .pooled = {2, 0}};
  });
  const Json texts{{"model", "m"}, {"input", {"ab", "ab<|endoftext|>"}}, {"pooling", "last"}};
  const auto answer = served.post("/v1/embeddings", texts);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(Json::parse(answer.body)["usage"]["prompt_tokens"], 6);
  const Json ids{{"model", "m"}, {"input", {97, 98}}, {"pooling", "last"}};
  EXPECT_EQ(served.post("/v1/embeddings", ids).status, 200);
  EXPECT_EQ(served.post("/v1/completions", completion({{"prompt", "ab"}})).status, 200);
  const auto specs = served.engine().submitted();
  ASSERT_EQ(specs.size(), 4u);
  const std::vector<TokenId> with_eos{'a', 'b', fake::kDocumentEnd};
  const std::vector<TokenId> as_given{'a', 'b'};
  EXPECT_EQ(specs[0].prompt, with_eos);
  EXPECT_EQ(specs[1].prompt, with_eos) << "once";
  EXPECT_EQ(specs[2].prompt, as_given) << "ids are the client's";
  EXPECT_EQ(specs[3].prompt, as_given) << "an answer goes on after its prompt";
}

TEST(Embeddings, ErrorsNameTheInput) {
  Served served;
  struct Case {
    const char* change;
    const char* param;
  };
  const std::string huge = R"({"input":")" + std::string(600, 'x') + R"("})";
  const std::vector<Case> cases{{R"({"input":null})", "input"},
                                {R"({"input":""})", "input"},
                                {R"({"input":[]})", "input"},
                                {R"({"input":["a",3]})", "input[1]"},
                                {huge.c_str(), "input"},
                                {R"({"dimensions":3})", "dimensions"},
                                {R"({"pooling":"max"})", "pooling"},
                                {R"({"encoding_format":"f16"})", "encoding_format"}};
  for (const Case& c : cases) {
    Json body{{"input", "a"}, {"model", "m"}};
    body.update(Json::parse(c.change));
    const auto answer = served.post("/v1/embeddings", body);
    EXPECT_EQ(answer.status, 400) << body.dump();
    EXPECT_EQ(error_key(answer, "param"), c.param) << answer.body;
  }
}

TEST(Tokenizer, TellsItsMarksAndItsTemplate) {  // what lm-eval tokenises with
  Served served;
  const auto answer = served.call("GET", "/tokenizer_info");
  ASSERT_EQ(answer.status, 200);
  const Json info = Json::parse(answer.body);
  EXPECT_TRUE(info.contains("eos_token"));
  EXPECT_EQ(info["model_max_length"], 512);
  EXPECT_NE(info["chat_template"].get<std::string>().find("messages"), std::string::npos);
}

TEST(OtherApis, WaitForTheModelInTheirOwnWords) {
  Served served({.slow_boot = true});
  for (const char* path : {"/v1/messages", "/api/chat", "/v1/responses",
                           "/v1/messages/count_tokens", "/api/show", "/infill", "/v1/embeddings"}) {
    const auto answer = served.post(path, Json::object());
    EXPECT_EQ(answer.status, 503) << path << answer.body;
    EXPECT_TRUE(answer.headers.find("retry-after").has_value()) << path;
  }
  const auto tags = served.call("GET", "/api/tags");
  EXPECT_EQ(tags.status, 503);
  EXPECT_TRUE(Json::parse(tags.body)["error"].is_string());
}

TEST(OtherApis, LeavingClientsAbortTheirWork) {
  Served served;
  say(served, "", std::nullopt);
  const std::vector<std::pair<const char*, Json>> requests{
      {"/v1/messages", messages({{"stream", true}})},
      {"/v1/responses", response()},
      {"/api/chat", chat()}};
  for (const auto& [path, body] : requests) {
    auto peer = served.open_post(path, body);
    ASSERT_TRUE(net::eventually([&] { return served.engine().open_requests() == 1; })) << path;
    peer->close();
    EXPECT_TRUE(net::eventually([&] { return served.engine().open_requests() == 0; })) << path;
  }
}

TEST(Infill, IsRefusedByNameWithoutItsTokens) {
  Served served;
  const auto answer = served.post("/infill", {{"input_prefix", "a"}, {"input_suffix", "b"}});
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(error_key(answer, "code"), "unsupported_parameter");
  EXPECT_NE(error_key(answer, "message").find("fill-in-the-middle"), std::string::npos);
}

TEST(Infill, PutsTheGapLast) {
  text::Vocabulary vocabulary = fake::byte_vocabulary();
  const auto first = static_cast<TokenId>(vocabulary.tokens.size());
  for (const char* name : {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_sep|>"}) {
    vocabulary.tokens.emplace_back(name);
    vocabulary.types.push_back(text::TokenType::kControl);
  }
  auto tokenizer = text::Tokenizer::build(std::move(vocabulary));
  ASSERT_TRUE(tokenizer.ok());
  const ServedModel model{.name = "m",
                          .created = 0,
                          .fingerprint = {},
                          .tokenizer = std::move(tokenizer).value(),
                          .chat_template = {},
                          .engine = nullptr};
  const auto prompt = infill_prompt(model, {.prefix = "<|fim_middle|>", .suffix = "z"});
  ASSERT_TRUE(prompt.ok());
  std::vector<TokenId> expected{first};
  for (const TokenId id : byte_tokens("<|fim_middle|>")) expected.push_back(id);
  expected.push_back(first + 1);
  expected.push_back('z');
  expected.push_back(first + 2);
  EXPECT_EQ(*prompt, expected) << "a user's text is never a control token";
  const auto more = infill_prompt(model, {.prefix = "a", .suffix = "z", .extra = {{"f", "t"}}});
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more->front(), first + 3);
}

}  // namespace
}  // namespace kantha::serve
