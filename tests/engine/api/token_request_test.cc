#include "engine/api/token_request.h"

#include <gtest/gtest.h>

namespace kantha::api {
namespace {

constexpr RequestLimits kLimits{.vocabulary_size = 100, .context_max = 512};

TEST(TokenRequest, TokenizeTakesATextOrAConversation) {
  const auto text = read_tokenize_request({{"prompt", "a"}, {"return_token_strs", true}});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->prompt, "a");
  EXPECT_TRUE(text->return_token_strs);
  const Json messages = Json::array({{{"role", "user"}, {"content", "hi"}}});
  const auto chat = read_tokenize_request({{"messages", messages}});
  ASSERT_TRUE(chat.ok());
  EXPECT_EQ(chat->chat->messages.size(), 1u);
  EXPECT_FALSE(read_tokenize_request({{"messages", messages}, {"prompt", "a"}}).ok());
  EXPECT_FALSE(read_tokenize_request(Json::object()).ok());
  EXPECT_FALSE(read_tokenize_request({{"prompt", 3}}).ok());
}

TEST(TokenRequest, DetokenizeChecksTheRange) {
  EXPECT_TRUE(read_detokenize_request({{"tokens", {0, 99}}}, kLimits).ok());
  EXPECT_TRUE(read_detokenize_request({{"tokens", Json::array()}}, kLimits).ok());
  const auto beyond = read_detokenize_request({{"tokens", {0, 100}}}, kLimits);
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().field, "tokens[1]");
  EXPECT_FALSE(read_detokenize_request(Json::object(), kLimits).ok());
}

TEST(TokenRequest, AnswerCountsTheTokens) {
  EXPECT_EQ(tokenize_json({4, 5}, 512, std::nullopt).dump(),
            R"({"count":2,"max_model_len":512,"tokens":[4,5],"token_strs":null})");
}

}  // namespace
}  // namespace kantha::api
