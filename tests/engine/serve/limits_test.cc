#include <gtest/gtest.h>

#include "tests/engine/serve/served.h"

// Every bound on a request, by what its error says: field, limit, and what was sent.
namespace kantha::serve {
namespace {

/// A template that is rendered forever, as far as a client could tell, for one message only: a boot
/// renders it too.
constexpr char kSlowTemplate[] =
    "{% if messages[0].content == 'slow' %}{% for a in range(1000) %}{% for b in range(1000) %}{% "
    "for c in range(1000) %}"
    "{% set x = a + b + c %}{% endfor %}{% endfor %}{% endfor %}{% endif %}"
    "{{ messages[0].content }}";

struct Bound {
  const char* name;
  Json body;
  const char* param;  ///< error.param; "" where it is null
  const char* words;  ///< the limit, as the message has it
  const char* path = "/v1/chat/completions";
  int status = 400;
};

Json many(std::size_t count, const Json& item) {
  Json list = Json::array();
  for (std::size_t i = 0; i < count; ++i) list.push_back(item);
  return list;
}

Json biases(int count) {
  Json map = Json::object();
  for (int i = 0; i < count; ++i) map[std::to_string(i)] = 1;
  return map;
}

Json function(const std::string& name, const Json& parameters = nullptr) {
  return {{"type", "function"}, {"function", {{"name", name}, {"parameters", parameters}}}};
}

Json functions(int count) {
  Json list = Json::array();
  for (int i = 0; i < count; ++i) list.push_back(function("f" + std::to_string(i)));
  return list;
}

Json format(const Json& schema) {
  return {{"response_format",
           {{"type", "json_schema"}, {"json_schema", {{"name", "s"}, {"schema", schema}}}}}};
}

Json nested_schema(int levels) {
  Json schema{{"type", "integer"}};
  for (int i = 0; i < levels; ++i) schema = {{"type", "array"}, {"items", schema}};
  return schema;
}

/// Counts that are each allowed and too many together.
std::string many_counts() {
  std::string pattern;
  for (int i = 0; i < 8; ++i) pattern += "[ab]{9000}";
  return pattern;
}

std::vector<Bound> bounds() {
  const Json user{{"role", "user"}, {"content", "hi"}};
  const Json text{{"type", "text"}, {"text", "a"}};
  const Json call{{"id", "c"}, {"type", "function"}, {"function", {{"name", "f"}}}};
  const auto turn = [](const Json& content) {
    return chat({{"messages", {{{"role", "user"}, {"content", content}}}}});
  };
  return {
      {"samples", chat({{"n", 65}}), "n", "[1, 64]"},
      {"samples over all prompts", completion({{"prompt", many(5, "a")}, {"n", 60}}), "n",
       "at most 256 choices over all prompts", "/v1/completions"},
      {"prompts", completion({{"prompt", many(65, "a")}}), "prompt", "at most 64 prompts",
       "/v1/completions"},
      {"messages", chat({{"messages", many(10'001, user)}}), "messages", "10000"},
      {"parts of a message", turn(many(10'001, text)), "messages[0].content", "10000 parts"},
      {"calls of a message",
       chat({{"messages", {{{"role", "assistant"}, {"tool_calls", many(129, call)}}}}}),
       "messages[0].tool_calls", "128"},
      {"stop strings", chat({{"stop", many(17, "a")}}), "stop", "at most 16 strings"},
      {"a stop string", chat({{"stop", std::string(1025, 'a')}}), "stop", "at most 1024 bytes"},
      {"stop tokens", chat({{"stop_token_ids", many(65, 1)}}), "stop_token_ids", "64"},
      {"biases", chat({{"logit_bias", biases(1025)}}), "logit_bias", "at most 1024"},
      {"a bias", chat({{"logit_bias", {{"1", 101}}}}), "logit_bias.1", "100"},
      {"bad words", chat({{"bad_words", many(129, "a")}}), "bad_words", "128"},
      {"a bad word", chat({{"bad_words", {std::string(257, 'a')}}}), "bad_words[0]", "256"},
      {"tokens", chat({{"max_tokens", 513}}), "max_tokens", "[1, 512]"},
      {"the window", chat({{"max_tokens", 500}}), "messages", "window of 512 tokens"},
      {"log-probabilities", chat({{"logprobs", true}, {"top_logprobs", 21}}), "top_logprobs",
       "[0, 20]"},
      {"those of a text", completion({{"logprobs", 6}}), "logprobs", "[0, 5]", "/v1/completions"},
      {"those of a prompt", chat({{"prompt_logprobs", 21}}), "prompt_logprobs", "[0, 20]"},
      {"a salt", chat({{"cache_salt", std::string(257, 'a')}}), "cache_salt", "256"},
      {"time", chat({{"kantha", {{"timeout_ms", 86'400'001}}}}), "kantha.timeout_ms", "86400000"},
      {"functions", chat({{"tools", functions(129)}}), "tools", "128"},
      {"a function's name", chat({{"tools", {function(std::string(129, 'a'))}}}),
       "tools[0].function.name", "1 to 128"},
      {"what functions say",
       chat({{"tools", {function("f", {{"description", std::string(300'000, 'a')}})}}}), "tools",
       "at most 262144 bytes"},
      {"choices", chat({{"guided_choice", many(1025, "a")}}), "guided_choice", "1 to 1024"},
      {"a regex", chat({{"guided_regex", std::string(300'000, 'a')}}), "guided_regex", "bytes"},
      {"repeats", chat({{"guided_regex", "a{20000}"}}), "guided_regex", "10000"},
      {"groups of a regex",
       chat({{"guided_regex", std::string(80, '(') + "a" + std::string(80, ')')}}), "guided_regex",
       "64"},
      {"a schema's depth", chat(format(nested_schema(62))), "", "deeper than 64 levels"},
      {"a string's length", chat(format({{"type", "string"}, {"maxLength", 4001}})),
       "response_format.json_schema.schema", "at most 4000"},
      {"states of an automaton", chat({{"guided_regex", many_counts()}}), "guided_regex",
       "too large: more than"},
      {"a schema's states", chat(format({{"type", "string"}, {"pattern", many_counts()}})),
       "response_format.json_schema.schema.pattern", "too large: more than"},
      {"a body's depth",
       chat({{"metadata", Json::parse(std::string(70, '[') + std::string(70, ']'))}}), "",
       "deeper than 64 levels"},
      {"a body's values", chat({{"metadata", many(100'001, 1)}}), "", "more than 100000 values"},
      {"tokens to text",
       {{"model", "m"}, {"tokens", many(100'001, 1)}},
       "",
       "more than 100000 values",
       "/detokenize"},
      {"embedded texts",
       {{"model", "m"}, {"input", many(65, "a")}},
       "input",
       "64",
       "/v1/embeddings"},
      {"items",
       {{"model", "m"}, {"input", many(10'001, user)}},
       "input",
       "10000 items",
       "/v1/responses"},
      {"files around a gap",
       {{"input_prefix", "a"},
        {"input_suffix", "b"},
        {"input_extra", many(257, {{"filename", "f"}, {"text", "t"}})}},
       "input_extra",
       "256",
       "/infill"},
      {"a body", chat({{"user", std::string(9u << 20, 'a')}}), "", "over the limit of 8388608",
       "/v1/chat/completions", 413},
  };
}

TEST(Limits, AreNamedInTheirErrors) {
  Served served;
  for (const Bound& bound : bounds()) {
    const auto answer = served.post(bound.path, bound.body);
    EXPECT_EQ(answer.status, bound.status) << bound.name << ": " << answer.body.substr(0, 400);
    if (answer.status != bound.status) continue;
    EXPECT_NE(error_key(answer, "message").find(bound.words), std::string::npos)
        << bound.name << ": " << answer.body.substr(0, 400);
    const std::string param = std::string(bound.param).empty() ? "null" : bound.param;
    EXPECT_EQ(error_key(answer, "param"), param) << bound.name;
  }
  EXPECT_EQ(served.engine().submitted().size(), 0u) << "none of them cost the engine anything";
  // And the server still answers.
  served.engine().on_submit(
      [](const sched::GenerateSpec&) { return fake::FakeReply{.tokens = {97}}; });
  EXPECT_EQ(served.post("/v1/chat/completions", chat()).status, 200);
}

TEST(Limits, ATemplatesStepsAreNamed) {
  Served served({.chat_template = kSlowTemplate});
  const Json slow{{"messages", {{{"role", "user"}, {"content", "slow"}}}}};
  const auto answer = served.post("/v1/chat/completions", chat(slow));
  EXPECT_EQ(answer.status, 400) << answer.body;
  EXPECT_NE(error_key(answer, "message").find("1000000 steps"), std::string::npos) << answer.body;
  EXPECT_EQ(error_key(answer, "param"), "messages");
}

}  // namespace
}  // namespace kantha::serve
