#include "noded/fleet/hot_prompts.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"

namespace kantha::noded {
namespace {

using std::chrono::minutes;

net::HttpRequest completion(const std::string& prompt, const std::string& more = "") {
  return {"POST", "/v1/completions", {}, R"({"prompt":")" + prompt + "\"" + more + "}"};
}

std::string long_prompt(const std::string& word) {
  std::string out;
  while (out.size() < 100) out += word + " ";
  return out;
}

class HotPromptsTest : public testing::Test {
 protected:
  std::vector<std::string> hottest(std::size_t count = 8) {
    std::vector<std::string> out;
    for (const auto& request : prompts_.hottest(count, now_)) {
      const std::string prompt = parse_json(request.body)->at("prompt");
      out.push_back(prompt.substr(0, prompt.find(' ')));
    }
    return out;
  }
  void use(const std::string& word, int times = 1) {
    for (int i = 0; i < times; ++i) prompts_.note(completion(long_prompt(word)), now_);
  }

  HotPrompts prompts_{{.prompts_max = 4}};
  TimePoint now_ = TimePoint{} + minutes(60);
};

TEST_F(HotPromptsTest, TheMostUsedComeFirstAndThoseThatCameOnceNotAtAll) {
  use("a", 2);
  use("b", 5);
  use("c");
  EXPECT_EQ(hottest(), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(hottest(1), (std::vector<std::string>{"b"}));
}

TEST_F(HotPromptsTest, AFloodOfPromptsThatComeOncePushesNothingHotOut) {
  use("a", 2);
  use("b", 3);
  for (int i = 0; i < 1000; ++i) use("flood" + std::to_string(i));
  EXPECT_EQ(hottest(), (std::vector<std::string>{"b", "a"}));
}

TEST_F(HotPromptsTest, HeatFadesSoThatWhatIsHotNowComesFirst) {
  use("old", 6);
  now_ += minutes(10);
  use("new", 3);
  EXPECT_EQ(hottest(), (std::vector<std::string>{"new", "old"}));
  now_ += minutes(60);
  EXPECT_TRUE(hottest().empty());
}

TEST_F(HotPromptsTest, ShortOnesLargeOnesAndOtherRoutesAreNotKept) {
  prompts_.note(completion("short"), now_);
  prompts_.note(completion(std::string(70'000, 'x')), now_);
  prompts_.note({"POST", "/v1/embeddings", {}, R"({"input":"x"})"}, now_);
  EXPECT_TRUE(prompts_.empty());
}

TEST(WarmingRequest, KeepsThePromptAndItsTenantAndAsksForOneToken) {
  net::HttpRequest request = completion(
      "a", R"(,"model":"m","stream":true,"n":4,"max_tokens":500,"logprobs":5,"cache_salt":"s",)"
           R"("response_format":{"type":"json_object"},)"
           R"("kantha":{"tenant":"blue","resume":{"token_ids":[1]},"timeout_ms":5})");
  request.headers.set("x-kantha-tenant", "blue");
  const auto warming = warming_request(request);
  ASSERT_TRUE(warming);
  EXPECT_EQ(*parse_json(warming->body),
            *parse_json(R"({"prompt":"a","model":"m","cache_salt":"s","max_tokens":1,)"
                        R"("temperature":0,"kantha":{"tenant":"blue"}})"));
  EXPECT_EQ(warming->path(), "/v1/completions");
  EXPECT_EQ(warming->headers.find("x-kantha-tenant"), "blue");
  EXPECT_FALSE(warming_request({"POST", "/v1/completions", {}, "[]"}));
}

}  // namespace
}  // namespace kantha::noded
