#include "tests/engine/serve/engine_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

// The whole engine with the real model (SmolLM2-135M-Instruct Q4_1).
namespace kantha::serve {
namespace {

const char* const kChat = "/v1/chat/completions";
const char* const kText = "/v1/completions";

Json ask(const std::string& question, Json more = Json::object()) {
  Json body{{"model", "m"},
            {"messages", Json::array({{{"role", "user"}, {"content", question}}})},
            {"temperature", 0},
            {"max_tokens", 48}};
  body.update(more);
  return body;
}

const Json& capital() {
  static const Json body = ask("What is the capital of France?");
  return body;
}

class RunningEngine : public testing::Test {
 protected:
  static void SetUpTestSuite() { engine_ = new EngineProgram(); }
  static void TearDownTestSuite() {
    delete engine_;
    engine_ = nullptr;
  }
  void SetUp() override {
    if (HasFailure()) GTEST_SKIP() << "the engine did not start";
  }
  static EngineProgram& engine() { return *engine_; }

 private:
  static inline EngineProgram* engine_ = nullptr;
};

TEST_F(RunningEngine, SaysWhatTheReferenceSays) {
  const auto response = engine().call("POST", kChat, capital());
  ASSERT_EQ(response.status, 200) << response.body;
  const Json body = Json::parse(response.body);
  EXPECT_EQ(body["choices"][0]["message"]["content"], "The capital of France is Paris.");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(body["usage"]["prompt_tokens"], 37);
  EXPECT_EQ(body["usage"]["completion_tokens"], 8);
}

TEST_F(RunningEngine, StreamSaysTheSameAsTheWholeAnswer) {
  const ModelAnswer streamed = engine().stream(kChat, capital());
  EXPECT_EQ(streamed.text, "The capital of France is Paris.");
  EXPECT_EQ(streamed.finish, "stop");
  EXPECT_TRUE(streamed.done);
}

TEST_F(RunningEngine, TokenizesAsTheReferenceDoes) {
  const Json body = Json::parse(engine().call("POST", "/tokenize", capital()).body);
  EXPECT_EQ(body["tokens"],
            Json({1,   9690, 198, 2683, 359,   253,  5356, 5646, 11173, 3365, 3511, 308,  34519,
                  28,  7018, 411, 407,  19712, 8182, 2,    198,  1,     4093, 198,  1780, 314,
                  260, 3575, 282, 4649, 47,    2,    198,  1,    520,   9531, 198}));
}

TEST_F(RunningEngine, LogprobsAreThoseOfADistribution) {  // report B032
  const Json more{{"logprobs", true}, {"top_logprobs", 5}, {"max_tokens", 3}};
  const auto response = engine().call("POST", kChat, ask("hi", more));
  ASSERT_EQ(response.status, 200) << response.body;
  const Json body = Json::parse(response.body);
  for (const Json& entry : body["choices"][0]["logprobs"]["content"]) {
    EXPECT_LE(entry["logprob"].get<double>(), 0);
    const Json& top = entry["top_logprobs"];
    ASSERT_EQ(top.size(), 5u);
    EXPECT_EQ(top[0]["token"], entry["token"]);  // greedy takes the best
    for (std::size_t i = 1; i < top.size(); ++i) {
      EXPECT_LE(top[i]["logprob"].get<double>(), top[i - 1]["logprob"].get<double>());
    }
  }
}

TEST_F(RunningEngine, ResumedStreamsSayTheRestWordForWord) {
  for (const double temperature : {0.0, 1.0}) {
    SCOPED_TRACE(temperature);
    Json body = ask("Tell me about the sea.", {{"temperature", temperature}, {"max_tokens", 32}});
    body["kantha"] = {{"return_token_ids", true}};
    const ModelAnswer whole = engine().stream(kChat, body);
    ASSERT_GT(whole.token_ids.size(), 8u);
    body["seed"] = whole.seed;
    for (const std::size_t sent : {std::size_t{1}, std::size_t{7}, whole.token_ids.size() - 1}) {
      const std::vector<TokenId> ids(whole.token_ids.begin(),
                                     whole.token_ids.begin() + static_cast<std::ptrdiff_t>(sent));
      body["kantha"]["resume"] = {{"token_ids", ids}};
      const ModelAnswer rest = engine().stream(kChat, body);
      EXPECT_TRUE(whole.text.ends_with(rest.text)) << rest.text;
      std::vector<TokenId> joined = ids;
      joined.insert(joined.end(), rest.token_ids.begin(), rest.token_ids.end());
      EXPECT_EQ(joined, whole.token_ids);
      EXPECT_EQ(rest.finish, whole.finish);
    }
  }
}

TEST_F(RunningEngine, PenaltiesSurviveAResume) {
  const Json more{{"temperature", 0.8},      {"max_tokens", 40},
                  {"frequency_penalty", 1},  {"repetition_penalty", 1.3},
                  {"presence_penalty", 0.5}, {"bad_words", {"sea", "ocean"}},
                  {"min_tokens", 20},        {"kantha", {{"return_token_ids", true}}}};
  Json body = ask("Tell me about the sea, the sea and the sea.", more);
  const ModelAnswer whole = engine().stream(kChat, body);
  ASSERT_GE(whole.token_ids.size(), 20u);
  const Json sea = Json::parse(engine().call("POST", "/tokenize", {{"prompt", " sea"}}).body);
  ASSERT_EQ(sea["tokens"].size(), 1u);
  EXPECT_EQ(std::ranges::count(whole.token_ids, sea["tokens"][0].get<TokenId>()), 0) << whole.text;
  body["seed"] = whole.seed;
  const std::vector<TokenId> sent(whole.token_ids.begin(), whole.token_ids.begin() + 9);
  body["kantha"]["resume"] = {{"token_ids", sent}};
  const ModelAnswer rest = engine().stream(kChat, body);
  EXPECT_TRUE(whole.text.ends_with(rest.text)) << rest.text;
  EXPECT_EQ(rest.token_ids.size() + 9, whole.token_ids.size());
}

TEST_F(RunningEngine, BiasAndAllowedTokensDecideWhatComes) {
  // 28 and 30 are "," and ".".
  const auto text_of = [&](const Json& more) {
    Json body{{"prompt", "one two"}, {"temperature", 0}, {"max_tokens", 3}};
    body.update(more);
    const auto response = engine().call("POST", kText, body);
    EXPECT_EQ(response.status, 200) << response.body;
    return Json::parse(response.body)["choices"][0]["text"].get<std::string>();
  };
  EXPECT_EQ(text_of({{"logit_bias", {{"28", 100}}}}), ",,,");
  EXPECT_EQ(text_of({{"allowed_token_ids", {30}}}), "...");
  EXPECT_EQ(
      text_of(
          {{"logit_bias", {{"28", 100}}}, {"allowed_token_ids", {28, 30}}, {"bad_words", {","}}}),
      "...");
}

TEST_F(RunningEngine, APromptScoresWhatTheSameTextScoredAsOutput) {
  Json body{{"prompt", "The sun rises in the"},
            {"temperature", 0},
            {"max_tokens", 12},
            {"logprobs", 2},
            {"echo", true},
            {"kantha", {{"return_token_ids", true}}}};
  const auto post = [&] {
    const auto response = engine().call("POST", kText, body);
    EXPECT_EQ(response.status, 200) << response.body;
    return Json::parse(response.body)["choices"][0];
  };
  const Json first = post();
  EXPECT_EQ(first, post()) << "a warm cache takes nothing away";
  Json ids =
      Json::parse(engine().call("POST", "/tokenize", {{"prompt", body["prompt"]}}).body)["tokens"];
  for (const Json& id : first["kantha"]["token_ids"]) ids.push_back(id);
  body["prompt"] = ids;
  body["max_tokens"] = 0;
  const Json again = post();
  EXPECT_EQ(again["text"], first["text"]);
  EXPECT_EQ(again["logprobs"], first["logprobs"]) << "bit for bit";
  EXPECT_EQ(again["logprobs"]["token_logprobs"][0], nullptr);
}

TEST_F(RunningEngine, LeavingClientsGiveEverythingBack) {  // report B014
  for (const bool stream : {true, false}) {
    net::RawPeer peer(engine().endpoint());
    const std::string body = ask("Count to a thousand.",
                                 {{"max_tokens", 1500}, {"ignore_eos", true}, {"stream", stream}})
                                 .dump();
    peer.send("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body);
    const auto state = [&] { return Json::parse(engine().call("GET", "/admin/v1/state").body); };
    EXPECT_TRUE(net::eventually([&] { return state()["requests_running"] == 1; }));
    peer.close();
    EXPECT_TRUE(net::eventually([&] {
      const Json now = state();
      return now["requests_running"] == 0 && now["kv"]["blocks_active"] == 0;
    }));
  }
}

/// Prompts of mixed lengths, some sharing long beginnings.
std::vector<std::pair<std::string, Json>> mixed_requests(int count) {
  std::vector<std::pair<std::string, Json>> requests;
  std::string story = "Once upon a time, in a land of hills and rivers,";
  for (int i = 0; i < count; ++i) {
    if (i % 8 == 0) story += " there lived a people who kept many kinds of animals and songs,";
    const Json more{{"max_tokens", 4 + i % 13}, {"ignore_eos", i % 3 == 0}};
    if (i % 2 == 0) {
      requests.emplace_back(kChat, ask(story + " number " + std::to_string(i) + "?", more));
      continue;
    }
    Json body{{"prompt", std::to_string(i) + " " + story}, {"temperature", 0}};
    body.update(more);
    requests.emplace_back(kText, std::move(body));
  }
  return requests;
}

TEST_F(RunningEngine, ManyStreamsAtOnceSayWhatEachSaysAlone) {
  const auto requests = mixed_requests(64);
  const std::vector<ModelAnswer> together = engine().stream_together(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    SCOPED_TRACE(i);
    const ModelAnswer alone = engine().stream(requests[i].first, requests[i].second);
    ASSERT_TRUE(alone.done) << alone.finish;
    EXPECT_EQ(together[i].text, alone.text);
    EXPECT_EQ(together[i].finish, alone.finish);
    EXPECT_TRUE(together[i].done);
  }
}

TEST(EngineProgram, SigtermLetsARunningStreamFinishAndExitsWithZero) {
  EngineProgram engine;
  if (testing::Test::HasFailure()) return;
  net::RawPeer peer(engine.endpoint());
  const std::string body =
      ask("Tell me a story.", {{"max_tokens", 40}, {"ignore_eos", true}, {"stream", true}}).dump();
  peer.send("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: " +
            std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_NE(peer.read_until("\"assistant\"").find("\"assistant\""), std::string::npos);
  engine.process().signal(SIGTERM);
  EXPECT_TRUE(net::eventually([&] { return engine.call("GET", "/ready").status != 200; }));
  const std::string rest = peer.read_until("[DONE]");
  EXPECT_NE(rest.find(R"("finish_reason":"length")"), std::string::npos);
  EXPECT_NE(rest.find("[DONE]"), std::string::npos);
  const auto exit = engine.wait_exit();
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->to_string(), "exit 0");
}

TEST(EngineProgram, FaultyStartsHaveTheirOwnExitStatus) {
  const auto exit_of = [](std::vector<std::string> arguments) {
    auto process =
        Process::spawn({.binary = EngineProgram::binary(), .args = std::move(arguments)});
    EXPECT_TRUE(process.ok());
    std::optional<ProcessExit> exit;
    EXPECT_TRUE(net::eventually([&] { return (exit = process->poll()).has_value(); }));
    return exit ? exit->to_string() : "still running";
  };
  EXPECT_EQ(exit_of({"--modle", "x"}), "exit 2");
  EXPECT_EQ(exit_of({"--config", "/nowhere.json"}), "exit 2");
  EXPECT_EQ(exit_of({"--model", "/nowhere.gguf", "--listen", "127.0.0.1:0"}), "exit 3");
  EXPECT_EQ(exit_of({"--model", EngineProgram::model(), "--listen", "127.0.0.1:0",
                     "--max-model-len", "1000000"}),
            "exit 3");
  EXPECT_EQ(exit_of({"--help"}), "exit 0");
}

}  // namespace
}  // namespace kantha::serve
