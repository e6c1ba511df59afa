#include "engine/api/infill_request.h"

#include <gtest/gtest.h>

#include "engine/api/infill_answer.h"

namespace kantha::api {
namespace {

constexpr RequestLimits kLimits{.vocabulary_size = 100, .context_max = 512};

TEST(InfillRequest, HasPrefixSuffixAndFiles) {
  const Json json = Json::parse(R"json({"input_prefix":"a(","input_suffix":")","prompt":"x",
    "n_predict":5,"input_extra":[{"filename":"f","text":"t"}],"temperature":0})json");
  const auto request = read_infill_request(json, kLimits);
  ASSERT_TRUE(request.ok()) << request.error().message;
  ASSERT_TRUE(request->infill.has_value());
  EXPECT_EQ(request->infill->prefix, "a(x");
  EXPECT_EQ(request->infill->suffix, ")");
  ASSERT_EQ(request->infill->extra.size(), 1u);
  EXPECT_EQ(request->infill->extra[0].filename, "f");
  EXPECT_EQ(request->fields.max_tokens, 5);
  EXPECT_EQ(request->content_bytes, 6);
}

TEST(InfillRequest, RefusesByItsOwnNames) {
  struct Case {
    const char* json;
    const char* field;
  };
  const std::vector<Case> cases{
      {R"({"input_suffix":""})", "input_prefix"},
      {R"({"input_prefix":""})", "input_suffix"},
      {R"({"input_prefix":3,"input_suffix":""})", "input_prefix"},
      {R"({"input_prefix":"","input_suffix":"","input_extra":[{}]})", "input_extra[0].text"},
      {R"({"input_prefix":"","input_suffix":"","n_predict":0})", "n_predict"},
      {R"({"input_prefix":"","input_suffix":"","repeat_penalty":0})", "repeat_penalty"},
  };
  for (const Case& c : cases) {
    const auto request = read_infill_request(Json::parse(c.json), kLimits);
    ASSERT_FALSE(request.ok()) << c.json;
    EXPECT_EQ(in_own_words(request.error(), kInfillAnswers.names).field, c.field) << c.json;
  }
}

}  // namespace
}  // namespace kantha::api
