#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/serve/served.h"
#include "tests/fake/byte_vocabulary.h"

// What an answer tells of its own prompt, and which of several samples it keeps.
namespace kantha::serve {
namespace {

using fake::byte_tokens;
using fake::FakeReply;
using sched::FinishReason;

const char* const kText = "/v1/completions";
const char* const kChat = "/v1/chat/completions";

void say(Served& served, const std::string& text) {
  served.engine().on_submit([text](const sched::GenerateSpec& spec) {
    if (spec.max_tokens == 0) return FakeReply{.finish = FinishReason::kLength};
    return FakeReply{.tokens = byte_tokens(text), .end_token = fake::kTurnEnd};
  });
}

Json answer_of(Served& served, const char* path, const Json& body) {
  const auto response = served.post(path, body);
  EXPECT_EQ(response.status, 200) << response.body;
  return Json::parse(response.body);
}

TEST(Echo, PutsThePromptBeforeTheText) {
  Served served;
  say(served, "!");
  EXPECT_EQ(answer_of(served, kText, completion({{"echo", true}}))["choices"][0]["text"], "hi!");
  EXPECT_EQ(served.engine().submitted().at(0).prompt_logprobs, -1) << "nobody asked for scores";
  const Json many{{"prompt", Json::array({{104, 105}, {256, 97, 257}})}, {"echo", true}};
  const Json body = answer_of(served, kText, many);
  EXPECT_EQ(body["choices"][0]["text"], "hi!");
  EXPECT_EQ(body["choices"][1]["text"], "<|im_start|>a<|im_end|>!");
  EXPECT_EQ(body["usage"]["completion_tokens"], 4);
}

TEST(Echo, ScoresThePromptToo) {  // report B028
  Served served;
  say(served, "!");
  const Json body = answer_of(served, kText, completion({{"echo", true}, {"logprobs", 2}}));
  EXPECT_EQ(served.engine().submitted().at(0).prompt_logprobs, 2);
  const Json& lists = body["choices"][0]["logprobs"];
  EXPECT_EQ(lists["tokens"], Json({"h", "i", "!"}));
  EXPECT_EQ(lists["token_logprobs"], Json({nullptr, -0.25, -0.5}));
  EXPECT_EQ(lists["text_offset"], Json({0, 1, 2}));
  EXPECT_EQ(lists["top_logprobs"][0], nullptr);
  EXPECT_EQ(lists["top_logprobs"][1], Json({{"i", -0.25}, {"j", -1.25}}));
}

TEST(Echo, WithoutOutputScoresThePromptAlone) {
  Served served;
  say(served, "unheard");
  const Json more{{"echo", true}, {"logprobs", 0}, {"max_tokens", 0}};
  const Json body = answer_of(served, kText, completion(more));
  EXPECT_EQ(served.engine().submitted().at(0).max_tokens, 0);
  EXPECT_EQ(body["choices"][0]["text"], "hi");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(body["choices"][0]["logprobs"]["token_logprobs"], Json({nullptr, -0.25}));
  EXPECT_EQ(body["usage"]["completion_tokens"], 0);
  EXPECT_EQ(body["usage"]["prompt_tokens"], 2);
}

TEST(Echo, StreamsThePromptWithTheFirstText) {
  Served served;
  say(served, "!?");
  for (const int max_tokens : {0, 5}) {
    SCOPED_TRACE(max_tokens);
    const auto answer = served.stream(
        kText,
        completion(
            {{"echo", true}, {"logprobs", 1}, {"stream", true}, {"max_tokens", max_tokens}}));
    EXPECT_TRUE(answer.done());
    EXPECT_EQ(answer.text(), max_tokens == 0 ? "hi" : "hi!?");
    const Json first = answer.chunks().front()["choices"][0];
    EXPECT_EQ(first["text"], max_tokens == 0 ? "hi" : "hi!");
    EXPECT_EQ(first["logprobs"]["token_logprobs"][0], nullptr);
    EXPECT_EQ(first["logprobs"]["token_logprobs"][1], -0.25);
    EXPECT_EQ(first["finish_reason"], nullptr);
  }
}

TEST(Echo, OfALongPromptIsWrittenBesideTheIoThreadAndNotStreamed) {
  Served served({.context_max = 20'000});
  say(served, "!");
  const std::vector<TokenId> prompt(9000, 97);
  Json body{{"prompt", prompt}, {"echo", true}, {"logprobs", 1}, {"prompt_logprobs", 1}};
  const Json whole = answer_of(served, kText, body);
  EXPECT_EQ(whole["choices"][0]["logprobs"]["tokens"].size(), 9001u);
  EXPECT_EQ(whole["choices"][0]["prompt_logprobs"].size(), 9000u);
  body.erase("prompt_logprobs");
  body["stream"] = true;
  const auto refused = served.post(kText, body);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(error_key(refused, "param"), "echo");
  EXPECT_NE(error_key(refused, "message").find("8192"), std::string::npos);
  body["logprobs"] = 0;
  EXPECT_TRUE(served.stream(kText, body).done());
}

TEST(Echo, IsNotRepeatedToAResumingClient) {
  Served served;
  say(served, "b");
  const Json more{{"echo", true},
                  {"logprobs", 1},
                  {"stream", true},
                  {"kantha", {{"resume", {{"token_ids", {97}}}}}}};
  EXPECT_EQ(served.stream(kText, completion(more)).text(), "b");
  EXPECT_EQ(served.engine().submitted().at(0).prompt_logprobs, -1);
}

TEST(Echo, EverySampleHasThePrompt) {
  Served served;
  say(served, "!");
  const Json more{{"echo", true}, {"logprobs", 0}, {"n", 2}, {"max_tokens", 3}};
  const Json body = answer_of(served, kText, completion(more));
  for (const Json& choice : body["choices"]) {
    EXPECT_EQ(choice["text"], "hi!");
    EXPECT_EQ(choice["logprobs"]["tokens"], Json({"h", "i", "!"}));
  }
  const auto specs = served.engine().submitted();
  EXPECT_EQ(specs.at(0).prompt_logprobs, 0);
  EXPECT_EQ(specs.at(1).prompt_logprobs, -1) << "once is enough";
  Json streamed = completion(more);
  streamed["stream"] = true;
  const auto answer = served.stream(kText, streamed);
  EXPECT_EQ(answer.text(0), "hi!");
  EXPECT_EQ(answer.text(1), "hi!");
}

TEST(PromptLogprobs, HaveTheShapeThatVllmHas) {
  Served served;
  say(served, "!");
  const Json want =
      Json::array({nullptr,
                   {{"105", {{"logprob", -0.25}, {"rank", 1}, {"decoded_token", "i"}}},
                    {"106", {{"logprob", -1.25}, {"rank", 2}, {"decoded_token", "j"}}}}});
  const Json body = answer_of(served, kText, completion({{"prompt_logprobs", 2}}));
  EXPECT_EQ(body["choices"][0]["prompt_logprobs"], want);
  EXPECT_EQ(body["choices"][0]["logprobs"], nullptr);
  EXPECT_FALSE(body.contains("prompt_logprobs"));
  const Json spoken = answer_of(served, kChat, chat({{"prompt_logprobs", 0}, {"n", 2}}));
  EXPECT_EQ(spoken["prompt_logprobs"].size(), 21u);
  EXPECT_EQ(spoken["prompt_logprobs"][0], nullptr);
  EXPECT_EQ(spoken["prompt_logprobs"][1].size(), 1u);
  EXPECT_FALSE(spoken["choices"][1].contains("prompt_logprobs"));
  const auto refused = served.post(kText, completion({{"prompt_logprobs", 1}, {"stream", true}}));
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(error_key(refused, "param"), "prompt_logprobs");
}

TEST(BestOf, KeepsTheSamplesThatAreLikeliestOnAverage) {
  Served served;
  auto count = std::make_shared<int>(0);
  served.engine().on_submit([count](const sched::GenerateSpec& spec) {
    EXPECT_EQ(spec.sampling.logprobs, 0);
    const int sample = (*count)++;
    // Sums would prefer the short one, means do not.
    const float logprobs[] = {-3, -0.75F, -1, -2};
    return FakeReply{.tokens = byte_tokens(sample == 2 ? "2222" : std::to_string(sample)),
                     .finish = FinishReason::kLength,
                     .logprob = logprobs[sample]};
  });
  const Json body = answer_of(served, kText, completion({{"n", 2}, {"best_of", 4}}));
  ASSERT_EQ(body["choices"].size(), 2u);
  EXPECT_EQ(body["choices"][0]["text"], "1");
  EXPECT_EQ(body["choices"][1]["text"], "2222");
  EXPECT_EQ(body["choices"][0]["index"], 0);
  EXPECT_EQ(body["choices"][1]["index"], 1);
  EXPECT_EQ(body["choices"][0]["logprobs"], nullptr) << "nobody asked for them";
  EXPECT_EQ(body["usage"]["completion_tokens"], 7) << "all that were made";
  EXPECT_EQ(body["usage"]["prompt_tokens"], 2);
}

TEST(BestOf, OfEqualsTheFirstAndPromptByPrompt) {
  Served served;
  auto count = std::make_shared<int>(0);
  served.engine().on_submit([count](const sched::GenerateSpec&) {
    return FakeReply{.tokens = byte_tokens(std::to_string((*count)++)),
                     .finish = FinishReason::kLength};
  });
  const Json body = answer_of(served, kText, {{"prompt", {"a", "b"}}, {"best_of", 3}});
  ASSERT_EQ(body["choices"].size(), 2u);
  EXPECT_EQ(body["choices"][0]["text"], "0");
  EXPECT_EQ(body["choices"][1]["text"], "3");
  EXPECT_EQ(body["choices"][1]["index"], 1);
}

TEST(BestOf, IsAtLeastNAndNotStreamed) {
  Served served;
  for (const Json& more : {Json{{"n", 3}, {"best_of", 2}}, Json{{"best_of", 2}, {"stream", true}},
                           Json{{"best_of", 65}}}) {
    const auto response = served.post(kText, completion(more));
    EXPECT_EQ(response.status, 400) << response.body;
    EXPECT_EQ(error_key(response, "param"), "best_of");
  }
}

TEST(StopStrings, TakeTheLogprobsOfTheTokensThatTheyCut) {
  Served served;
  say(served, "xabcdz.");
  // "abcde" might still have come when "cd" was there: both were waited for.
  Json body = completion({{"stop", {"abcde", "cd"}}, {"logprobs", 0}, {"max_tokens", 9}});
  body["kantha"] = {{"return_token_ids", true}};
  const Json choice = answer_of(served, kText, body)["choices"][0];
  EXPECT_EQ(choice["text"], "xab");
  EXPECT_EQ(choice["logprobs"]["tokens"], Json({"x", "a", "b"}));
  EXPECT_EQ(choice["kantha"]["token_ids"], Json(byte_tokens("xabcdz"))) << "ids are all there";
  body["include_stop_str_in_output"] = true;
  const Json kept = answer_of(served, kText, body)["choices"][0];
  EXPECT_EQ(kept["text"], "xabcd");
  EXPECT_EQ(kept["logprobs"]["tokens"], Json({"x", "a", "b", "c", "d"}));
  body["include_stop_str_in_output"] = false;
  body["stream"] = true;
  std::string scored;
  for (const Json& chunk : served.stream(kText, body).chunks()) {
    for (const Json& part : chunk["choices"]) {
      if (part["logprobs"].is_null()) continue;
      for (const Json& token : part["logprobs"]["tokens"]) scored += token.get<std::string>();
    }
  }
  EXPECT_EQ(scored, "xab");
}

}  // namespace
}  // namespace kantha::serve
