#include "engine/api/output_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/api/chat_request.h"
#include "engine/api/completion_request.h"

namespace kantha::api {
namespace {

using grammar::Wish;
using testing::HasSubstr;

constexpr RequestLimits kLimits{.vocabulary_size = 100, .context_max = 512};

Result<CompletionRequest> read(Json body) {
  body["prompt"] = "a";
  return read_completion_request(body, kLimits);
}

struct Spelling {
  Json body;
  Wish wish;
};

class OutputFormat : public testing::TestWithParam<Spelling> {};

TEST_P(OutputFormat, IsOneWishHoweverItIsSpelt) {
  Json chat = GetParam().body;
  chat["messages"] = {{{"role", "user"}, {"content", "hi"}}};
  const auto of_chat = read_chat_request(chat, kLimits);
  const auto of_text = read(GetParam().body);
  ASSERT_TRUE(of_chat.ok()) << of_chat.error().to_string();
  ASSERT_TRUE(of_text.ok()) << of_text.error().to_string();
  ASSERT_NE(of_chat->fields.output, nullptr);
  ASSERT_NE(of_text->fields.output, nullptr);
  EXPECT_EQ(*of_chat->fields.output, GetParam().wish);
  EXPECT_EQ(*of_text->fields.output, GetParam().wish);
}

Wish at(Wish wish, const std::string& path) {
  wish.path = path;
  return wish;
}

Wish compact(Wish wish) {
  wish.compact = true;
  return wish;
}

const OrderedJson& integer() {
  static const OrderedJson schema{{"type", "integer"}};
  return schema;
}

INSTANTIATE_TEST_SUITE_P(
    Table, OutputFormat,
    testing::Values(
        Spelling{{{"response_format", {{"type", "json_object"}}}},
                 at(grammar::json_object(), "response_format")},
        Spelling{
            {{"response_format", {{"type", "json_object"}, {"schema", {{"type", "integer"}}}}}},
            grammar::json_schema(integer(), "response_format.schema")},
        Spelling{{{"response_format",
                   {{"type", "json_schema"},
                    {"json_schema",
                     {{"name", "a_b-1"}, {"strict", true}, {"schema", {{"type", "integer"}}}}}}}},
                 grammar::json_schema(integer(), "response_format.json_schema.schema")},
        Spelling{{{"json_schema", {{"type", "integer"}}}},
                 grammar::json_schema(integer(), "json_schema")},
        Spelling{{{"guided_json", {{"type", "integer"}}}},
                 grammar::json_schema(integer(), "guided_json")},
        Spelling{{{"guided_json", R"({"type":"integer"})"}},
                 grammar::json_schema(integer(), "guided_json")},
        Spelling{{{"guided_regex", "a+"}}, grammar::regex("a+", "guided_regex")},
        Spelling{{{"guided_choice", {"a", "b"}}}, at(grammar::choice({"a", "b"}), "guided_choice")},
        Spelling{{{"guided_grammar", "root ::= \"a\""}},
                 grammar::gbnf("root ::= \"a\"", "guided_grammar")},
        Spelling{{{"grammar", "root ::= \"a\""}}, grammar::gbnf("root ::= \"a\"", "grammar")},
        Spelling{{{"structured_outputs", {{"json", {{"type", "integer"}}}}}},
                 grammar::json_schema(integer(), "structured_outputs.json")},
        Spelling{
            {{"structured_outputs", {{"json_object", true}, {"disable_any_whitespace", true}}}},
            compact(at(grammar::json_object(), "structured_outputs.json_object"))},
        Spelling{{{"structured_outputs", {{"choice", {"x"}}, {"regex", nullptr}}}},
                 at(grammar::choice({"x"}), "structured_outputs.choice")},
        Spelling{{{"structured_outputs", {{"regex", "a"}}}},
                 grammar::regex("a", "structured_outputs.regex")},
        Spelling{{{"structured_outputs", {{"grammar", "root ::= \"\""}}}},
                 grammar::gbnf("root ::= \"\"", "structured_outputs.grammar")}));

TEST(OutputFormat, AnyTextIsNoWish) {
  for (const Json& body : {Json::object(), Json{{"response_format", {{"type", "text"}}}},
                           Json{{"response_format", nullptr}}, Json{{"grammar", ""}},
                           Json{{"json_schema", nullptr}, {"guided_choice", nullptr}}}) {
    const auto request = read(body);
    ASSERT_TRUE(request.ok()) << request.error().to_string();
    EXPECT_EQ(request->fields.output, nullptr);
  }
}

struct Refusal {
  Json body;
  std::string field;
  std::string words;
};

class RefusedOutputFormat : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedOutputFormat, NamesItsField) {
  const auto request = read(GetParam().body);
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.error().field, GetParam().field);
  EXPECT_THAT(request.error().message, HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    Table, RefusedOutputFormat,
    testing::Values(
        Refusal{{{"response_format", "json"}}, "response_format", "an object"},
        Refusal{{{"response_format", Json::object()}}, "response_format.type", "required"},
        Refusal{{{"response_format", {{"type", "xml"}}}},
                "response_format.type",
                "expected text, json_object or json_schema, got \"xml\""},
        Refusal{{{"response_format", {{"type", "json_schema"}}}},
                "response_format.json_schema",
                "required"},
        Refusal{{{"response_format", {{"type", "json_schema"}, {"json_schema", {{"name", "a"}}}}}},
                "response_format.json_schema.schema",
                "required"},
        Refusal{{{"response_format",
                  {{"type", "json_schema"},
                   {"json_schema", {{"name", "a b"}, {"schema", Json::object()}}}}}},
                "response_format.json_schema.name",
                "1 to 64 letters"},
        Refusal{{{"guided_json", "{"}}, "guided_json", "guided_json"},
        Refusal{{{"guided_json", 3}}, "guided_json", "a schema"},
        Refusal{{{"guided_choice", Json::array()}}, "guided_choice", "expected 1 to 1024 choices"},
        Refusal{{{"guided_choice", {"a", 1}}}, "guided_choice[1]", "a string"},
        Refusal{{{"guided_choice", {""}}}, "guided_choice[0]", "not empty"},
        Refusal{{{"guided_regex", 1}}, "guided_regex", "a string"},
        Refusal{{{"structured_outputs", Json::object()}}, "structured_outputs", "got none"},
        Refusal{{{"structured_outputs", {{"structural_tag", "x"}}}},
                "structured_outputs.structural_tag",
                "not supported"},
        Refusal{{{"structured_outputs", {{"regex", "a"}, {"choice", {"a"}}}}},
                "structured_outputs.choice",
                "structured_outputs.regex already says"},
        Refusal{{{"response_format", {{"type", "json_object"}}}, {"guided_regex", "a"}},
                "guided_regex",
                "response_format already says"}));

TEST(OutputFormat, KeysComeInTheOrderOfTheBody) {
  const std::string body =
      R"({"prompt":"a","tools":[{"z":1}],"guided_json":{"type":"object","properties":{
         "zebra":{"type":"object","properties":{"y":{},"x":{}}},"ant":{"enum":[{"q":1,"p":2}]}}}})";
  const auto request = read_completion_request(*parse_json(body), kLimits);
  ASSERT_TRUE(request.ok());
  const auto& sorted = request->fields.output;
  EXPECT_EQ(sorted->schema["properties"].begin().key(), "ant");
  const auto ordered = in_key_order(sorted, body);
  EXPECT_EQ(
      ordered->schema.dump(),
      R"({"type":"object","properties":{"zebra":{"type":"object","properties":{"y":{},"x":{}}},)"
      R"("ant":{"enum":[{"q":1,"p":2}]}}})");
  EXPECT_EQ(in_key_order(nullptr, body), nullptr);
  EXPECT_EQ(*in_key_order(sorted, "{}"), *sorted);
}

}  // namespace
}  // namespace kantha::api
