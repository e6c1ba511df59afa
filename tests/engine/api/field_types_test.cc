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
      {"frequency_penalty", {"int", "float"}},
      {"presence_penalty", {"int", "float"}},
      {"repetition_penalty", {"int", "float"}},
      {"typical_p", {"int", "float"}},
      {"use_beam_search", {}},
      {"prompt_logprobs", {"int"}},
      {"bad_words", {"array"}},
      {"allowed_token_ids", {}},
      {"skip_special_tokens", {"bool"}},
      {"priority", {"int"}},
      {"cache_salt", {"string"}},
      {"response_format", {}},
      {"structured_outputs", {}},
      {"guided_json", {"object", "bool"}},
      {"guided_regex", {"string"}},
      {"guided_choice", {"array"}},
      {"guided_grammar", {"string"}},
      {"grammar", {"string"}},
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
      {"echo", {}},
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
  static const std::vector<FieldCase> cases{
      {"logprobs", {"int"}}, {"echo", {"bool"}}, {"suffix", {}}};
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
      {"n", 0, false},
      {"n", 64, true},
      {"n", 65, false},
      {"n", 1.5, false},
      {"n", "2", false},
      {"best_of", 1, true},
      {"best_of", 2, true},
      {"best_of", 65, false},
      {"prompt_logprobs", 20, true},
      {"prompt_logprobs", 21, false},
      {"prompt_logprobs", -1, false},
      {"best_of", 0, false},
      {"priority", -2147483648LL, true},
      {"priority", 2147483648LL, false},
      {"priority", "high", false},
      {"cache_salt", std::string(256, 'a'), true},
      {"cache_salt", std::string(257, 'a'), false},
      {"cache_salt", 5, false},
      {"service_tier", "flex", true},
      {"service_tier", "default", true},
      {"service_tier", 1, false},
      {"logit_bias", Json::object(), true},
      {"logit_bias", {{"5", 1}}, true},
      {"frequency_penalty", 0, true},
      {"frequency_penalty", 0.0, true},
      {"response_format", {{"type", "text"}}, true},
      {"response_format", {{"type", "json_object"}}, true},
      {"tools", Json::array(), true},
      {"tool_choice", "none", true},
      {"kantha", {{"return_token_ids", true}}, true},
      {"kantha", {{"resume", {{"token_ids", {1, 2}}}}}, true},
      {"kantha", {{"resume", {{"token_ids", {100}}}}}, false},
      {"kantha", {{"resume", {{"tokens", {1}}}}}, false},
      {"kantha", {{"tenant", std::string(128, 't')}}, true},
      {"kantha", {{"tenant", std::string(129, 't')}}, false},
      {"kantha", {{"tenant", 7}}, false},
      {"kantha", {{"class", "agent"}}, true},
      {"kantha", {{"class", "Agent"}}, false},
      {"kantha", {{"class", 1}}, false},
      {"kantha", {{"timeout_ms", 1}}, true},
      {"kantha", {{"timeout_ms", 0}}, false},
      {"kantha", {{"timeout_ms", 86'400'000}}, true},
      {"kantha", {{"timeout_ms", 86'400'001}}, false},
      {"kantha", {{"timeout_ms", "1s"}}, false},
      {"kantha", {{"deadline", 5}}, false},
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

TEST(FieldTypes, APlaceAmongOthersIsReadWhole) {
  Json body = chat_body();
  body.update({{"n", 3}, {"best_of", 3}, {"priority", -5}, {"cache_salt", "s"}});
  body["kantha"] = {{"tenant", "t"}, {"class", "batch"}, {"timeout_ms", 1500}};
  const auto request = read_chat_request(body, kLimits);
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->fields.n, 3);
  EXPECT_EQ(request->fields.priority, -5);
  EXPECT_EQ(request->fields.cache_salt, "s");
  EXPECT_EQ(request->fields.slo, SloClass::kBatch);
  EXPECT_EQ(request->fields.vendor.tenant, "t");
  EXPECT_EQ(request->fields.vendor.timeout_ms, 1500);
}

TEST(FieldTypes, TheFlexTierIsBatchUnlessAClassSaysOtherwise) {
  Json body = chat_body();
  EXPECT_EQ(read_chat_request(body, kLimits)->fields.slo, SloClass::kInteractive);
  body["service_tier"] = "flex";
  EXPECT_EQ(read_chat_request(body, kLimits)->fields.slo, SloClass::kBatch);
  body["kantha"] = {{"class", "interactive"}};
  EXPECT_EQ(read_chat_request(body, kLimits)->fields.slo, SloClass::kInteractive);
}

TEST(FieldTypes, ResumeIsForOneSample) {
  Json body = chat_body();
  body["n"] = 2;
  body["kantha"] = {{"resume", {{"token_ids", {1}}}}};
  const auto request = read_chat_request(body, kLimits);
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.error().field, "kantha.resume");
  EXPECT_NE(request.error().message.find("n 2"), std::string::npos);
}

TEST(FieldTypes, ChoicesOfAllPromptsAreBoundedTogether) {
  Json body{{"prompt", std::vector<std::string>(5, "a")}, {"n", 64}};
  const auto request = read_completion_request(body, kLimits);
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.error().field, "n");
  EXPECT_NE(request.error().message.find("256"), std::string::npos);
  body["n"] = 51;
  EXPECT_TRUE(read_completion_request(body, kLimits).ok());
}

}  // namespace
}  // namespace kantha::api
