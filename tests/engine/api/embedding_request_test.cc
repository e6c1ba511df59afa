#include "engine/api/embedding_request.h"

#include <gtest/gtest.h>

namespace kantha::api {
namespace {

constexpr RequestLimits kLimits{.vocabulary_size = 100, .context_max = 512};

TEST(EmbeddingRequest, TakesEveryFormOfInput) {
  struct Case {
    const char* input;
    std::size_t count;
  };
  for (const Case& c :
       {Case{R"("a")", 1}, Case{R"(["a","b"])", 2}, Case{"[1,2,3]", 1}, Case{"[[1],[2,3]]", 2}}) {
    Json body;
    body["input"] = Json::parse(c.input);
    const auto request = read_embedding_request(body, kLimits);
    ASSERT_TRUE(request.ok()) << c.input << request.error().message;
    EXPECT_EQ(request->prompts.size(), c.count);
    EXPECT_EQ(request->fields.max_tokens, 0);
    EXPECT_FALSE(request->of_last);
    EXPECT_FALSE(request->base64);
  }
}

TEST(EmbeddingRequest, PlacesItselfAmongOthersAndNeverResumes) {
  Json body{{"input", "a"}, {"priority", 3}};
  body["kantha"]["tenant"] = "t";
  const auto request = read_embedding_request(body, kLimits);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->fields.vendor.tenant, "t");
  EXPECT_EQ(request->fields.priority, 3);
  body["kantha"]["resume"]["token_ids"] = Json::array({1});
  EXPECT_FALSE(read_embedding_request(body, kLimits).ok());
}

}  // namespace
}  // namespace kantha::api
