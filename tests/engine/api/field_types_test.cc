#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/api/chat_request.h"
#include "engine/api/completion_request.h"

// Report B018: every field of both APIs with every JSON type either works or is a 400 that names
// the field; nothing is taken silently for something else.
namespace kantha::api {
namespace {

constexpr RequestLimits kLimits{.vocabulary_size = 100, .context_max = 512};

/// One value of each JSON type; the integer and the float are in nobody's forbidden range by
/// chance.
const std::map<std::string, Json>& values() {
  static const std::map<std::string, Json> all{
      {"null", nullptr},      {"bool", true},     {"int", 1},
      {"float", 0.5},         {"string", "text"}, {"array", Json::array({"text"})},
      {"object", {{"a", 1}}},
  };
  return all;
}

struct FieldCase {
  const char* name;
  std::set<std::string> accepted;  // besides null
};

const std::vector<FieldCase>& shared_cases() {
  static const std::vector<FieldCase> cases{
      {"model", {"string"}},
      {"max_tokens", {"int"}},
      {"min_tokens", {"int"}},
      {"temperature", {"int", "float"}},
      {"top_p", {"int", "float"}},
      {"top_k", {"int"}},
      {"min_p", {"float"}},
      {"seed", {"int"}},
      {"stop", {"string", "array"}},
      {"include_stop_str_in_output", {"bool"}},
      {"stop_token_ids", {}},
      {"ignore_eos", {"bool"}},
      {"stream", {"bool"}},
      {"stream_options", {}},  // an object needs stream: true
      {"kantha", {}},          // an object with an unknown key
      {"n", {"int"}},
      {"best_of", {"int"}},
      {"logit_bias", {}},
      {"frequency_penalty", {}},
      {"presence_penalty", {}},
      {"repetition_penalty", {"int"}},
      {"use_beam_search", {}},
      {"echo", {}},
      {"prompt_logprobs", {}},
      {"bad_words", {}},
      {"allowed_token_ids", {}},
      {"skip_special_tokens", {"bool"}},
      {"priority", {}},
      {"response_format", {}},
      {"structured_outputs", {}},
      {"guided_json", {}},
      {"guided_regex", {}},
      {"guided_choice", {}},
      {"guided_grammar", {}},
      {"grammar", {}},
      {"user", {"string"}},
      {"metadata", {"object"}},
      {"store", {"bool"}},
      {"service_tier", {"string"}},
      {"safety_identifier", {"string"}},
      {"prompt_cache_key", {"string"}},
  };
  return cases;
}

const std::vector<FieldCase>& chat_cases() {
  static const std::vector<FieldCase> cases{
      {"max_completion_tokens", {"int"}},
      {"logprobs", {"bool"}},
      {"top_logprobs", {}},  // needs logprobs
      {"chat_template_kwargs", {"object"}},
      {"add_generation_prompt", {"bool"}},
      {"continue_final_message", {}},
      {"tools", {}},
      {"tool_choice", {}},
      {"functions", {}},
      {"function_call", {}},
      {"audio", {}},
      {"modalities", {"array"}},
      {"prediction", {}},
      {"web_search_options", {}},
      {"documents", {}},
      {"chat_template", {}},
      {"reasoning_effort", {}},
      {"verbosity", {}},
      {"parallel_tool_calls", {"bool"}},
  };
  return cases;
}

const std::vector<FieldCase>& completion_cases() {
  static const std::vector<FieldCase> cases{{"logprobs", {"int"}}, {"suffix", {}}};
  return cases;
}

Json chat_body() { return {{"messages", Json::array({{{"role", "user"}, {"content", "hi"}}})}}; }

Json completion_body() { return {{"prompt", "hi"}}; }

template <class Read>
void expect_table(const std::vector<FieldCase>& cases, const Json& body, Read read) {
  for (const FieldCase& c : cases) {
    for (const auto& [type, value] : values()) {
      SCOPED_TRACE(std::string(c.name) + " as " + type);
      Json changed = body;
      changed[c.name] = value;
      const auto request = read(changed, kLimits);
      if (type == "null" || c.accepted.contains(type)) {
        EXPECT_TRUE(request.ok()) << request.error().to_string();
        continue;
      }
      ASSERT_FALSE(request.ok());
      EXPECT_TRUE(request.error().field.starts_with(c.name)) << request.error().to_string();
      EXPECT_NE(request.error().message.find(c.name), std::string::npos);
    }
  }
}

TEST(FieldTypes, EveryChatFieldTakesItsTypesOnly) {
  expect_table(shared_cases(), chat_body(), read_chat_request);
  expect_table(chat_cases(), chat_body(), read_chat_request);
}

TEST(FieldTypes, EveryCompletionFieldTakesItsTypesOnly) {
  expect_table(shared_cases(), completion_body(), read_completion_request);
  expect_table(completion_cases(), completion_body(), read_completion_request);
}

TEST(FieldTypes, MessagesAndPromptTakeTheirTypesOnly) {
  for (const auto& [type, value] : values()) {
    SCOPED_TRACE(type);
    EXPECT_FALSE(read_chat_request({{"messages", value}}, kLimits).ok());
    const bool prompt_ok = type == "string" || type == "array";
    EXPECT_EQ(read_completion_request({{"prompt", value}}, kLimits).ok(), prompt_ok);
  }
}

TEST(FieldTypes, TheBodyMustBeAnObject) {
  for (const Json& body : {Json(nullptr), Json(1), Json("x"), Json::array({1})}) {
    EXPECT_FALSE(read_chat_request(body, kLimits).ok());
    EXPECT_FALSE(read_completion_request(body, kLimits).ok());
  }
}

struct RangeCase {
  const char* name;
  Json value;
  bool accepted;
};

const std::vector<RangeCase>& range_cases() {
  static const std::vector<RangeCase> cases{
      {"temperature", -1, false},  // report B002, B038
      {"temperature", 0, true},
      {"temperature", -0.0, true},
      {"temperature", 1e-30, true},
      {"temperature", 2, true},
      {"temperature", 2.01, false},
      {"temperature", 1e30, false},
      {"top_p", 0, true},
      {"top_p", 7, false},  // report B012
      {"top_p", -0.1, false},
      {"top_k", -1, true},
      {"top_k", -2, false},
      {"min_p", 1, false},
      {"max_tokens", 0, false},  // report B028
      {"max_tokens", -1, false},
      {"max_tokens", 512, true},
      {"max_tokens", 513, false},
      {"max_tokens", 1.5, false},
      {"min_tokens", 513, false},
      {"seed", std::numeric_limits<std::int64_t>::min(), true},
      {"seed", std::numeric_limits<std::int64_t>::max(), true},
      {"seed", std::numeric_limits<std::uint64_t>::max(), false},
      {"stop", "", false},
      {"stop", Json::array(), true},
      {"stop", Json::array({"a", ""}), false},
      {"stop", Json::array({"a", 1}), false},
      {"stop", std::vector<std::string>(16, "a"), true},
      {"stop", std::vector<std::string>(17, "a"), false},
      {"stop", std::string(1025, 'a'), false},
      {"stop_token_ids", Json::array({0, 99}), true},
      {"stop_token_ids", Json::array({100}), false},
      {"stop_token_ids", Json::array({-1}), false},
      {"stop_token_ids", Json::array({std::numeric_limits<std::uint64_t>::max()}), false},
      {"n", 2, false},
      {"n", 1.5, false},
      {"logit_bias", Json::object(), true},
      {"logit_bias", {{"5", 1}}, false},
      {"frequency_penalty", 0, true},
      {"frequency_penalty", 0.0, true},
      {"response_format", {{"type", "text"}}, true},
      {"response_format", {{"type", "json_object"}}, false},
      {"tools", Json::array(), true},
      {"tool_choice", "none", true},
      {"tool_choice", "auto", false},
      {"kantha", {{"return_token_ids", true}}, true},
      {"kantha", {{"resume", {{"token_ids", {1, 2}}}}}, true},
      {"kantha", {{"resume", {{"token_ids", {100}}}}}, false},
      {"kantha", {{"resume", {{"tokens", {1}}}}}, false},
      {"an_unknown_field", {{"x", 1}}, true},
  };
  return cases;
}

TEST(FieldTypes, RangesAreHeld) {
  for (const RangeCase& c : range_cases()) {
    SCOPED_TRACE(std::string(c.name) + " = " + c.value.dump());
    Json body = chat_body();
    body[c.name] = c.value;
    const auto request = read_chat_request(body, kLimits);
    EXPECT_EQ(request.ok(), c.accepted);
    if (!request.ok()) EXPECT_TRUE(request.error().field.starts_with(c.name));
  }
}

}  // namespace
}  // namespace kantha::api
