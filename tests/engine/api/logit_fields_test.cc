#include "engine/api/logit_fields.h"

#include <gtest/gtest.h>

#include "engine/api/completion_request.h"

namespace kantha::api {
namespace {

constexpr RequestLimits kLimits{.vocabulary_size = 100, .context_max = 512};

Result<CompletionRequest> read(Json body) {
  body["prompt"] = "a";
  return read_completion_request(body, kLimits);
}

TEST(LogitFields, AreReadAsTheyAreGiven) {
  const auto request = read({{"repetition_penalty", 1.2},
                             {"presence_penalty", -2},
                             {"frequency_penalty", 0.5},
                             {"typical_p", 0.9},
                             {"logit_bias", {{"99", -100}, {"7", 0.5}}},
                             {"allowed_token_ids", {9, 3, 9}},
                             {"bad_words", {"no", " never"}}});
  ASSERT_TRUE(request.ok()) << request.error().to_string();
  EXPECT_EQ(request->fields.typical_p, 0.9);
  const LogitFields want{.repetition_penalty = 1.2,
                         .presence_penalty = -2,
                         .frequency_penalty = 0.5,
                         .bias = {{7, 0.5}, {99, -100}},
                         .allowed = {3, 9},
                         .bad_words = {"no", " never"}};
  EXPECT_EQ(request->fields.logits, want);
}

TEST(LogitFields, AreNeutralWhenAbsentNullOrWithoutEffect) {
  for (const Json& body :
       {Json::object(), Json{{"logit_bias", nullptr}, {"bad_words", nullptr}},
        Json{{"logit_bias", Json::object()}, {"bad_words", Json::array()}, {"typical_p", 1}},
        Json{{"repetition_penalty", 1}, {"presence_penalty", 0}, {"frequency_penalty", 0.0}}}) {
    const auto request = read(body);
    ASSERT_TRUE(request.ok()) << body << request.error().to_string();
    EXPECT_EQ(request->fields.logits, LogitFields{}) << body;
  }
}

TEST(LogitFields, FaultsNameFieldLimitAndValue) {  // report B036
  Json many = Json::object();
  for (int i = 0; i < 1025; ++i) many[std::to_string(i)] = 1;
  struct Case {
    Json body;
    const char* field;
    const char* words;
  };
  const Case cases[] = {
      {{{"presence_penalty", 2.1}}, "presence_penalty", "2"},
      {{{"frequency_penalty", -2.5}}, "frequency_penalty", "-2"},
      {{{"repetition_penalty", 0}}, "repetition_penalty", "0.01"},
      {{{"repetition_penalty", 101}}, "repetition_penalty", "100"},
      {{{"typical_p", 0}}, "typical_p", "(0, 1]"},
      {{{"typical_p", 1.5}}, "typical_p", "1"},
      {{{"logit_bias", {{"100", 1}}}}, "logit_bias", "[0, 100)"},
      {{{"logit_bias", {{"-1", 1}}}}, "logit_bias", "\"-1\""},
      {{{"logit_bias", {{"x", 1}}}}, "logit_bias", "\"x\""},
      {{{"logit_bias", {{"7 ", 1}}}}, "logit_bias", "[0, 100)"},
      {{{"logit_bias", {{"", 1}}}}, "logit_bias", "[0, 100)"},
      {{{"logit_bias", {{"99999999999999999999", 1}}}}, "logit_bias", "[0, 100)"},
      {{{"logit_bias", {{"7", 100.5}}}}, "logit_bias.7", "[-100, 100]"},
      {{{"logit_bias", {{"7", "1"}}}}, "logit_bias.7", "a string"},
      {{{"logit_bias", {{"7", nullptr}}}}, "logit_bias.7", "null"},
      {{{"logit_bias", {{"7", 1}, {"07", 2}}}}, "logit_bias", "token 7"},
      {{{"logit_bias", many}}, "logit_bias", "1024"},
      {{{"allowed_token_ids", Json::array()}}, "allowed_token_ids", "at least one"},
      {{{"allowed_token_ids", {1, 100}}}, "allowed_token_ids[1]", "[0, 100)"},
      {{{"allowed_token_ids", {"a"}}}, "allowed_token_ids[0]", "a string"},
      {{{"allowed_token_ids", std::vector<int>(101, 1)}}, "allowed_token_ids", "100"},
      {{{"bad_words", {"a", ""}}}, "bad_words[1]", "256"},
      {{{"bad_words", {std::string(257, 'x')}}}, "bad_words[0]", "257"},
      {{{"bad_words", {1}}}, "bad_words[0]", "a string"},
      {{{"bad_words", std::vector<std::string>(129, "a")}}, "bad_words", "128"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.body.dump().substr(0, 80));
    const auto request = read(c.body);
    ASSERT_FALSE(request.ok());
    EXPECT_EQ(request.error().code, Code::kInvalidArgument);
    EXPECT_EQ(request.error().field, c.field);
    EXPECT_NE(request.error().message.find(c.words), std::string::npos) << request.error().message;
    EXPECT_TRUE(request.error().message.starts_with(c.field)) << request.error().message;
  }
}

}  // namespace
}  // namespace kantha::api
