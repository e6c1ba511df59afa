#include "engine/api/ollama_request.h"

#include <gtest/gtest.h>

#include "engine/api/ollama_answer.h"
#include "engine/api/openai_error.h"

namespace kantha::api {
namespace {

constexpr RequestLimits kLimits{.vocabulary_size = 100, .context_max = 512};

Json chat(Json more = Json::object()) {
  Json json{{"model", "m:latest"}};
  json["messages"] = Json::array({{{"role", "user"}, {"content", "hi"}}});
  json.update(more);
  return json;
}

TEST(OllamaRequest, StreamsWithItsOwnDefaults) {
  const auto request = read_ollama_chat(chat(), kLimits);
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_TRUE(request->fields.stream);
  EXPECT_EQ(request->fields.model, "m");
  EXPECT_EQ(request->fields.temperature, 0.8);
  EXPECT_EQ(request->fields.top_k, 40);
  EXPECT_EQ(request->fields.top_p, 0.9);
  EXPECT_EQ(request->fields.max_tokens, std::nullopt);
}

TEST(OllamaRequest, OptionsReachTheSameFields) {
  const Json options{
      {"temperature", 0},    {"top_k", 5},      {"top_p", 0.5},     {"min_p", 0.1},
      {"seed", 7},           {"stop", {"x"}},   {"num_predict", 9}, {"repeat_penalty", 1.5},
      {"repeat_last_n", -1}, {"num_ctx", 4096}, {"num_thread", 3}};
  const auto request = read_ollama_chat(
      chat({{"options", options}, {"stream", false}, {"keep_alive", "5m"}, {"think", false}}),
      kLimits);
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_FALSE(request->fields.stream);
  EXPECT_EQ(request->fields.temperature, 0);
  EXPECT_EQ(request->fields.top_k, 5);
  EXPECT_EQ(request->fields.min_p, 0.1);
  EXPECT_EQ(request->fields.seed, 7);
  EXPECT_EQ(request->fields.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(request->fields.max_tokens, 9);
  EXPECT_EQ(request->fields.logits.repetition_penalty, 1.5);
}

TEST(OllamaRequest, NoLimitMeansTheWindow) {
  for (const int most : {-1, -2}) {
    const auto request = read_ollama_chat(chat({{"options", {{"num_predict", most}}}}), kLimits);
    ASSERT_TRUE(request.ok());
    EXPECT_EQ(request->fields.max_tokens, std::nullopt);
  }
}

TEST(OllamaRequest, GenerateIsAConversationUnlessRaw) {
  Json json{{"model", "m"}, {"prompt", "hi"}, {"system", "s"}};
  auto request = read_ollama_generate(json, kLimits);
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->messages.size(), 2u);
  EXPECT_EQ(request->raw, std::nullopt);
  json["raw"] = true;
  request = read_ollama_generate(json, kLimits);
  EXPECT_EQ(request->raw, "hi");
  json["suffix"] = "end";
  request = read_ollama_generate(json, kLimits);
  ASSERT_TRUE(request->infill.has_value());
  EXPECT_EQ(request->infill->suffix, "end");
}

TEST(OllamaRequest, RefusesByItsOwnNames) {
  struct Case {
    Json change;
    const char* field;
  };
  const std::vector<Case> cases{
      {{{"messages", nullptr}}, "messages"},
      {{{"messages", Json::array({{{"role", "user"}, {"content", 3}}})}}, "messages[0].content"},
      {{{"messages", Json::array({{{"role", "user"}, {"images", {"x"}}}})}}, "messages[0].images"},
      {{{"options", 3}}, "options"},
      {{{"options", {{"temperature", "warm"}}}}, "options.temperature"},
      {{{"options", {{"num_predict", 0}}}}, "options.num_predict"},
      {{{"options", {{"mirostat", 2}}}}, "options.mirostat"},
      {{{"options", {{"repeat_penalty", 1.1}, {"repeat_last_n", 64}}}}, "options.repeat_last_n"},
      {{{"format", 3}}, "format"},
      {{{"think", 3}}, "think"},
      {{{"think", "lots"}}, "think"},
      {{{"stream", "yes"}}, "stream"},
  };
  for (const Case& c : cases) {
    const auto request = read_ollama_chat(chat(c.change), kLimits);
    ASSERT_FALSE(request.ok()) << c.change.dump();
    const Error error = in_own_words(request.error(), kOllamaChatAnswers.names);
    EXPECT_EQ(error.field, c.field) << c.change.dump();
    EXPECT_EQ(http_status(error), 400);
  }
}

TEST(OllamaRequest, ShowTakesBothNames) {
  EXPECT_EQ(*read_ollama_show({{"model", "m:latest"}}), "m");
  EXPECT_EQ(*read_ollama_show({{"name", "m"}}), "m");
  EXPECT_FALSE(read_ollama_show(Json::object()).ok());
}

TEST(OllamaAnswer, TimesAreUtc) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(1'709'208'000), "2024-02-29T12:00:00Z");
}

}  // namespace
}  // namespace kantha::api
