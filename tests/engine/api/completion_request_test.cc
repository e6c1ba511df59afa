#include "engine/api/completion_request.h"

#include <gtest/gtest.h>

namespace kantha::api {
namespace {

constexpr RequestLimits kLimits{.vocabulary_size = 100, .context_max = 512};

Result<CompletionRequest> read(const Json& body) { return read_completion_request(body, kLimits); }

std::string field_at_fault(const Json& body) {
  const auto request = read(body);
  return request.ok() ? "none" : request.error().field;
}

TEST(CompletionRequest, OneText) {
  const auto request = read({{"prompt", "hello"}, {"logprobs", 5}});
  ASSERT_TRUE(request.ok());
  ASSERT_EQ(request->prompts.size(), 1u);
  EXPECT_EQ(std::get<std::string>(request->prompts[0]), "hello");
  EXPECT_EQ(request->text_bytes, 5);
  EXPECT_EQ(request->fields.logprobs, 5);
}

TEST(CompletionRequest, SeveralTexts) {
  const auto request = read({{"prompt", {"a", "bc"}}});
  ASSERT_TRUE(request.ok());
  ASSERT_EQ(request->prompts.size(), 2u);
  EXPECT_EQ(std::get<std::string>(request->prompts[1]), "bc");
}

TEST(CompletionRequest, OneListOfTokens) {
  const auto request = read({{"prompt", {1, 2, 99}}});
  ASSERT_TRUE(request.ok());
  ASSERT_EQ(request->prompts.size(), 1u);
  EXPECT_EQ(std::get<std::vector<TokenId>>(request->prompts[0]), (std::vector<TokenId>{1, 2, 99}));
  EXPECT_EQ(request->token_count, 3);
}

TEST(CompletionRequest, SeveralListsOfTokens) {
  const auto request = read({{"prompt", Json::array({Json::array({1}), Json::array({2, 3})})}});
  ASSERT_TRUE(request.ok());
  ASSERT_EQ(request->prompts.size(), 2u);
  EXPECT_EQ(std::get<std::vector<TokenId>>(request->prompts[1]), (std::vector<TokenId>{2, 3}));
}

TEST(CompletionRequest, FaultyPromptsNameTheirPlace) {
  EXPECT_EQ(field_at_fault(Json::object()), "prompt");
  EXPECT_EQ(field_at_fault({{"prompt", Json::array()}}), "prompt");  // report B026
  EXPECT_EQ(field_at_fault({{"prompt", Json::array({Json::array()})}}), "prompt[0]");
  EXPECT_EQ(field_at_fault({{"prompt", {"a", 1}}}), "prompt[1]");
  EXPECT_EQ(field_at_fault({{"prompt", {1, "a"}}}), "prompt[1]");
  EXPECT_EQ(field_at_fault({{"prompt", {1, 100}}}), "prompt[1]");
  EXPECT_EQ(field_at_fault({{"prompt", {-1}}}), "prompt[0]");
  EXPECT_EQ(field_at_fault({{"prompt", {1.5}}}), "prompt[0]");
  EXPECT_EQ(field_at_fault({{"prompt", Json::array({Json::array({1}), 2})}}), "prompt[1]");
  EXPECT_EQ(field_at_fault({{"prompt", Json::array({Json::array({1, true})})}}), "prompt[0][1]");
  EXPECT_EQ(field_at_fault({{"prompt", std::vector<std::string>(65, "a")}}), "prompt");
}

TEST(CompletionRequest, ResumeNeedsOnePrompt) {
  const Json resume{{"resume", {{"token_ids", {1}}}}};
  EXPECT_EQ(field_at_fault({{"prompt", "a"}, {"kantha", resume}}), "none");
  EXPECT_EQ(field_at_fault({{"prompt", {"a", "b"}}, {"kantha", resume}}), "kantha.resume");
}

TEST(CompletionRequest, OnlyAnEchoNeedsNoOutput) {  // report B028
  const auto request = read({{"prompt", "a"}, {"echo", true}, {"max_tokens", 0}});
  ASSERT_TRUE(request.ok());
  EXPECT_TRUE(request->fields.echo);
  EXPECT_EQ(request->fields.max_tokens, 0);
  EXPECT_FALSE(read({{"prompt", "a"}})->fields.echo);
  EXPECT_EQ(field_at_fault({{"prompt", "a"}, {"max_tokens", 0}}), "max_tokens");
  EXPECT_EQ(field_at_fault({{"prompt", "a"}, {"echo", false}, {"max_tokens", 0}}), "max_tokens");
}

TEST(CompletionRequest, BestOfIsCountedOverAllPrompts) {
  EXPECT_EQ(read({{"prompt", "a"}, {"n", 2}, {"best_of", 5}})->fields.best_of, 5);
  EXPECT_EQ(read({{"prompt", "a"}, {"n", 2}})->fields.best_of, 2);
  EXPECT_EQ(field_at_fault({{"prompt", std::vector<std::string>(8, "a")}, {"best_of", 33}}), "n");
  const Json resume{{"resume", {{"token_ids", {1}}}}};
  EXPECT_EQ(field_at_fault({{"prompt", "a"}, {"best_of", 2}, {"kantha", resume}}), "kantha.resume");
}

TEST(CompletionRequest, SuffixIsRefusedUnlessItChangesNothing) {
  EXPECT_EQ(field_at_fault({{"prompt", "a"}, {"suffix", "b"}}), "suffix");
  EXPECT_EQ(field_at_fault({{"prompt", "a"}, {"suffix", ""}}), "none");
  EXPECT_EQ(field_at_fault({{"prompt", "a"}, {"logprobs", 6}}), "logprobs");
  EXPECT_EQ(field_at_fault({{"prompt", "a"}, {"logprobs", true}}), "logprobs");
}

}  // namespace
}  // namespace kantha::api
