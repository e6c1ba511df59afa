#include <gtest/gtest.h>

#include "tests/engine/serve/served.h"
#include "tests/fake/byte_vocabulary.h"

// From the fields that change logits to what the engine is asked for.
namespace kantha::serve {
namespace {

using fake::byte_tokens;
using fake::FakeReply;
using sched::FinishReason;

void say(Served& served, const std::string& text) {
  served.engine().on_submit([text](const sched::GenerateSpec&) {
    return FakeReply{.tokens = byte_tokens(text), .end_token = fake::kTurnEnd};
  });
}

TEST(SamplingFields, ReachTheEngineAndAreSharedByAllSamples) {
  Served served;
  say(served, "a");
  const Json more{{"n", 3},
                  {"max_tokens", 4},
                  {"typical_p", 0.5},
                  {"repetition_penalty", 1.25},
                  {"presence_penalty", -1},
                  {"frequency_penalty", 0.5},
                  {"logit_bias", {{"65", 2.5}}},
                  {"allowed_token_ids", {66, 65}}};
  ASSERT_EQ(served.post("/v1/completions", completion(more)).status, 200);
  const auto specs = served.engine().submitted();
  ASSERT_EQ(specs.size(), 3u);
  ASSERT_NE(specs[0].rules, nullptr);
  EXPECT_EQ(specs[0].rules, specs[2].rules);
  EXPECT_EQ(specs[0].sampling.typical_p, 0.5F);
  const sched::LogitRules& rules = *specs[0].rules;
  EXPECT_EQ(rules.repetition_penalty, 1.25F);
  EXPECT_EQ(rules.presence_penalty, -1);
  EXPECT_EQ(rules.frequency_penalty, 0.5F);
  ASSERT_EQ(rules.bias.size(), 1u);
  EXPECT_EQ(rules.bias[0].token, 65);
  EXPECT_EQ(rules.bias[0].bias, 2.5F);
  EXPECT_EQ(rules.allowed, (std::vector<TokenId>{65, 66}));
  EXPECT_TRUE(rules.bad_words.empty());
}

TEST(SamplingFields, AskForNothingWhenTheyChangeNothing) {
  Served served;
  say(served, "a");
  const Json more{
      {"repetition_penalty", 1.0}, {"presence_penalty", 0}, {"logit_bias", Json::object()}};
  ASSERT_EQ(served.post("/v1/chat/completions", chat(more)).status, 200);
  EXPECT_EQ(served.engine().submitted().at(0).rules, nullptr);
}

TEST(SamplingFields, BadWordsBecomeTokensWithAndWithoutASpace) {
  Served served;
  say(served, "a");
  ASSERT_EQ(served.post("/v1/completions", completion({{"bad_words", {"no", " x", "no"}}})).status,
            200);
  const auto specs = served.engine().submitted();
  ASSERT_NE(specs.at(0).rules, nullptr);
  EXPECT_EQ(specs[0].rules->bad_words,
            (std::vector<std::vector<TokenId>>{byte_tokens("no"), byte_tokens(" no"),
                                               byte_tokens(" x")}));
}

TEST(SamplingFields, IdsBeyondTheVocabularyAre400NamingTheLimit) {  // report B036
  Served served;
  for (const Json& more :
       {Json{{"logit_bias", {{"999999", 1}}}}, Json{{"allowed_token_ids", {999999}}},
        Json{{"stop_token_ids", {999999}}, {"min_tokens", 5}}}) {
    const auto response = served.post("/v1/completions", completion(more));
    EXPECT_EQ(response.status, 400) << response.body;
    EXPECT_NE(response.body.find("[0, "), std::string::npos) << response.body;
    EXPECT_EQ(error_key(response, "type"), "invalid_request_error");
  }
  EXPECT_TRUE(served.engine().submitted().empty());
}

TEST(SamplingFields, ARequestThatForbidsEverythingIs400AndAnErrorEvent) {  // report B012
  Served served;
  served.engine().on_submit([](const sched::GenerateSpec&) {
    return FakeReply{.tokens = byte_tokens("ab"),
                     .finish = FinishReason::kError,
                     .error = "bad_words leave no token",
                     .forbidden = true};
  });
  const auto response = served.post("/v1/completions", completion());
  EXPECT_EQ(response.status, 400) << response.body;
  EXPECT_EQ(error_key(response, "type"), "invalid_request_error");
  EXPECT_NE(error_key(response, "message").find("bad_words"), std::string::npos);
  const auto answer = served.stream("/v1/completions", completion({{"stream", true}}));
  EXPECT_FALSE(answer.done());
  EXPECT_EQ(answer.chunks().back()["error"]["type"], "invalid_request_error");
}

TEST(SamplingFields, StopStringsBeginAfterMinTokens) {
  Served served;
  say(served, "xyxyxy.");
  for (const bool stream : {false, true}) {
    SCOPED_TRACE(stream);
    const auto text_of = [&](int min_tokens) {
      Json body = completion({{"stop", "xy"}, {"max_tokens", 9}, {"min_tokens", min_tokens}});
      if (!stream) {
        return Json::parse(served.post("/v1/completions", body).body)["choices"][0]["text"]
            .get<std::string>();
      }
      body["stream"] = true;
      return served.stream("/v1/completions", body).text();
    };
    EXPECT_EQ(text_of(0), "");
    EXPECT_EQ(text_of(1), "xy") << "the x was not looked at, so that its y ends nothing";
    EXPECT_EQ(text_of(2), "xy");
    EXPECT_EQ(text_of(3), "xyxy");
    EXPECT_EQ(text_of(6), "xyxyxy.");
  }
}

}  // namespace
}  // namespace kantha::serve
