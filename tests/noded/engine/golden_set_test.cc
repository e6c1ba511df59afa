#include "noded/engine/golden_set.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace kantha::noded {
namespace {

constexpr const char* kSet = R"({"timeout_seconds": 5, "prompts": [
  {"prompt": "Once", "max_tokens": 2, "token_ids": [5, 6]}, {"prompt": "2+2=", "text": " 4"}]})";

TEST(GoldenSet, IsReadAndAsked) {
  const auto set = golden_set_from_json(kSet);
  ASSERT_TRUE(set.ok()) << set.error().to_string();
  ASSERT_EQ(set->prompts.size(), 2U);
  EXPECT_EQ(set->timeout, std::chrono::seconds(5));
  const Json request = Json::parse(golden_request(set->prompts[0], "m"));
  EXPECT_EQ(request["temperature"], 0);
  EXPECT_EQ(request["max_tokens"], 2);
  EXPECT_EQ(request["kantha"]["return_token_ids"], true);
}

TEST(GoldenSet, RefusesWhatIsNoneWithTheFieldsPath) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", ""},
      {"{}", "prompts"},
      {R"({"prompts": []})", "prompts"},
      {R"({"prompts": [{"text": "a"}]})", "prompts[0].prompt"},
      {R"({"prompts": [{"prompt": "a"}]})", "prompts[0]"},
      {R"({"prompts": [{"prompt": "a", "text": "b", "token_ids": [1]}]})", "prompts[0]"},
      {R"({"prompts": [{"prompt": "a", "token_ids": [-1]}]})", "prompts[0].token_ids"},
      {R"({"prompts": [{"prompt": "a", "text": "b", "max_tokens": 0}]})", "prompts[0].max_tokens"},
      {R"({"prompts": [{"prompt": "a", "text": "b", "logprobs": [-1]}]})", "prompts[0].logprobs"},
      {R"({"prompts": [{"prompt": "a", "token_ids": [1, 2], "logprobs": [-1]}]})",
       "prompts[0].logprobs"},
      {R"({"prompts": [{"prompt": "a", "token_ids": [1], "logprobs": [1]}]})",
       "prompts[0].logprobs"},
      {R"({"prompts": [{"prompt": "a", "text": "b", "logprob_tolerance": -1}]})",
       "prompts[0].logprob_tolerance"},
  };
  for (const auto& [text, field] : cases) {
    const auto set = golden_set_from_json(text);
    ASSERT_FALSE(set.ok()) << text;
    EXPECT_NE(set.error().to_string().find(field), std::string::npos) << set.error().to_string();
  }
}

TEST(GoldenSet, TellsHowAnAnswerDiffers) {
  const auto set = golden_set_from_json(kSet);
  ASSERT_TRUE(set.ok());
  const GoldenPrompt& ids = set->prompts[0];
  EXPECT_EQ(golden_difference(ids, 200, R"({"choices": [{"kantha": {"token_ids": [5, 6]}}]})"), "");
  EXPECT_EQ(golden_difference(ids, 200, R"({"choices": [{"kantha": {"token_ids": [5, 7]}}]})"),
            "expected [5, 6], got [5, 7]");
  EXPECT_EQ(golden_difference(ids, 200, "{}"), "the answer has no kantha.token_ids");
  EXPECT_EQ(golden_difference(ids, 500, "{}"), "HTTP 500");
  EXPECT_EQ(golden_difference(ids, 200, "nonsense"), "the answer is no JSON object");
  const GoldenPrompt& text = set->prompts[1];
  EXPECT_EQ(golden_difference(text, 200, R"({"choices": [{"text": " 4"}]})"), "");
  EXPECT_EQ(golden_difference(text, 200, R"({"choices": [{"text": " 5"}]})"),
            "expected \" 4\", got \" 5\"");
}

TEST(GoldenSet, ComparesLogProbabilitiesWithTheirTolerance) {
  const auto set = golden_set_from_json(
      R"({"prompts": [{"prompt": "a", "token_ids": [5, 6], "logprobs": [-0.5, -2],
                       "logprob_tolerance": 0.1}]})");
  ASSERT_TRUE(set.ok()) << set.error().to_string();
  const GoldenPrompt& prompt = set->prompts[0];
  EXPECT_EQ(Json::parse(golden_request(prompt, "m"))["logprobs"], 0);
  const auto answer = [](const std::string& ids, const std::string& logprobs) {
    return R"({"choices": [{"kantha": {"token_ids": )" + ids +
           R"(}, "logprobs": {"token_logprobs": )" + logprobs + "}}]}";
  };
  EXPECT_EQ(golden_difference(prompt, 200, answer("[5, 6]", "[-0.55, -1.95]")), "");
  EXPECT_EQ(golden_difference(prompt, 200, answer("[5, 6]", "[-0.5, -1.8]")),
            "log-probability of token 2: expected -2.0, got -1.8, tolerance 0.1");
  EXPECT_EQ(golden_difference(prompt, 200, answer("[5, 7]", "[-0.5, -2]")),
            "expected [5, 6], got [5, 7]");
  EXPECT_EQ(golden_difference(prompt, 200, answer("[5, 6]", "[-0.5]")),
            "the answer has no log-probabilities");
  EXPECT_EQ(golden_difference(prompt, 200, R"({"choices": [{"kantha": {"token_ids": [5, 6]}}]})"),
            "the answer has no log-probabilities");
}

}  // namespace
}  // namespace kantha::noded
