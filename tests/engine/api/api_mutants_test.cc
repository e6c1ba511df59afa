#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "engine/api/completion_request.h"
#include "engine/api/embedding_request.h"
#include "engine/api/infill_request.h"
#include "engine/api/messages_answer.h"
#include "engine/api/messages_request.h"
#include "engine/api/ollama_answer.h"
#include "engine/api/ollama_request.h"
#include "engine/api/openai_error.h"
#include "engine/api/responses_answer.h"
#include "engine/api/responses_request.h"
#include "tests/engine/api/fuzz_targets.h"
#include "tests/engine/api/whole_bodies.h"

// Every value of a rich request of each API, replaced by a value of every other kind or left out:
// it is read, or it is a 400 whose message begins with its field. Nothing ends the process.
namespace kantha::api {
namespace {

constexpr RequestLimits kLimits{.vocabulary_size = 100, .context_max = 512};

struct Api {
  const char* name;
  Status (*read)(const Json& body);
  std::span<const FieldName> names;
  const char* body;
};

template <auto reader>
Status status_of(const Json& body) {
  const auto request = reader(body, kLimits);
  return request.ok() ? ok_status() : Status(request.error());
}

const std::vector<Api>& apis() {
  static const std::vector<Api> all{
      {"messages", &status_of<&read_messages_request>, kMessagesAnswers.names, kMessagesBody},
      {"responses", &status_of<&read_responses_request>, kResponsesAnswers.names, kResponsesBody},
      {"ollama chat", &status_of<&read_ollama_chat>, kOllamaChatAnswers.names, kOllamaChatBody},
      {"ollama generate", &status_of<&read_ollama_generate>, kOllamaGenerateAnswers.names,
       kOllamaGenerateBody},
      {"infill", &status_of<&read_infill_request>, {}, kInfillBody},
      {"embeddings", &status_of<&read_embedding_request>, {}, kEmbeddingsBody},
  };
  return all;
}

/// Every place in a document but the root.
void list_places(const Json& json, const Json::json_pointer& at,
                 std::vector<Json::json_pointer>& places) {
  if (!json.is_structured()) return;
  for (const auto& [key, value] : json.items()) {
    const auto place = json.is_array() ? at / std::stoul(key) : at / key;
    places.push_back(place);
    list_places(value, place, places);
  }
}

const std::vector<Json>& values() {
  static const std::vector<Json> all{nullptr,
                                     true,
                                     -1,
                                     0,
                                     3,
                                     1e300,
                                     0.5,
                                     std::int64_t{1} << 62,
                                     "",
                                     "text",
                                     "tool",
                                     Json::array(),
                                     Json::array({1}),
                                     Json::object(),
                                     Json{{"a", 1}},
                                     Json::array({Json::object()})};
  return all;
}

TEST(ApiMutants, WholeBodiesAreRead) {
  for (const Api& api : apis()) {
    const Status read = api.read(Json::parse(api.body));
    EXPECT_TRUE(read.ok()) << api.name << ": " << (read.ok() ? "" : read.error().message);
  }
}

TEST(ApiMutants, OpenAisOlderBodiesAreRead) {
  EXPECT_TRUE(read_chat_request(Json::parse(kChatBody), kLimits).ok());
  EXPECT_TRUE(read_completion_request(Json::parse(kCompletionBody), kLimits).ok());
}

TEST(ApiMutants, AreReadOrRefusedByName) {
  int refused = 0;
  for (const Api& api : apis()) {
    const Json whole = Json::parse(api.body);
    std::vector<Json::json_pointer> places;
    list_places(whole, Json::json_pointer(), places);
    for (const Json::json_pointer& place : places) {
      for (const Json& value : values()) {
        Json body = whole;
        body[place] = value;
        const Status read = api.read(body);
        if (read.ok()) continue;
        ++refused;
        const Error error = in_own_words(read.error(), api.names);
        SCOPED_TRACE(std::string(api.name) + " " + place.to_string() + " = " + value.dump());
        EXPECT_EQ(http_status(error), 400);
        EXPECT_FALSE(error.field.empty()) << error.message;
        EXPECT_TRUE(error.message.starts_with(error.field)) << error.message << error.field;
      }
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(ApiMutants, NoBodyIsTooStrange) {
  for (const Api& api : apis()) {
    for (const Json& value : values()) EXPECT_FALSE(api.read(value).ok()) << api.name << value;
  }
}

TEST(ApiMutants, ChangedBytesAreReadOrRefused) {
  constexpr std::string_view kBytes = "{}[]\",:0-1aenullt\\ ";
  const std::vector<std::string> bodies = body_corpus();
  std::mt19937_64 random(4);
  for (int i = 0; i < 4000; ++i) {
    std::string text = bodies[random() % bodies.size()];
    for (std::size_t change = 0; change <= random() % 3; ++change) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text.erase(at, 1 + random() % 4);
      } else {
        text.insert(at, 1, kBytes[random() % kBytes.size()]);
      }
    }
    fuzz_body(text);
  }
}

}  // namespace
}  // namespace kantha::api
