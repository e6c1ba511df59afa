#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/rng.h"
#include "engine/serve/generation_job.h"
#include "tests/engine/serve/served.h"
#include "tests/fake/byte_vocabulary.h"

// Parallel samples, a request's place among others, and its deadline.
namespace kantha::serve {
namespace {

using fake::byte_tokens;
using fake::FakeReply;
using sched::FinishReason;

/// Each sample says its own letter: the first one "A", then "B", …
void say_letters(Served& served) {
  auto count = std::make_shared<int>(0);
  served.engine().on_submit([count](const sched::GenerateSpec&) {
    const std::string text(1, static_cast<char>('A' + (*count)++));
    return FakeReply{.tokens = byte_tokens(text), .end_token = fake::kTurnEnd};
  });
}

TEST(Samples, EachChoiceHasItsIndexAndThePromptCountsOnce) {
  for (const char* path : {"/v1/chat/completions", "/v1/completions"}) {
    SCOPED_TRACE(path);
    Served served;
    say_letters(served);
    const bool is_chat = path[4] == 'c' && path[5] == 'h';
    const Json more{{"n", 3}, {"max_tokens", 4}};
    const auto response = served.post(path, is_chat ? chat(more) : completion(more));
    ASSERT_EQ(response.status, 200) << response.body;
    const Json body = Json::parse(response.body);
    ASSERT_EQ(body["choices"].size(), 3u);
    for (int i = 0; i < 3; ++i) {
      const Json& choice = body["choices"][i];
      EXPECT_EQ(choice["index"], i);
      EXPECT_EQ(is_chat ? choice["message"]["content"] : choice["text"],
                std::string(1, static_cast<char>('A' + i)));
    }
    EXPECT_EQ(body["usage"]["prompt_tokens"], is_chat ? 21 : 2);
    EXPECT_EQ(body["usage"]["completion_tokens"], 6);
  }
}

TEST(Samples, StreamsCarryEveryChoiceToItsEnd) {
  Served served;
  say_letters(served);
  const auto answer = served.stream(
      "/v1/chat/completions",
      chat({{"n", 3}, {"stream", true}, {"stream_options", {{"include_usage", true}}}}));
  ASSERT_TRUE(answer.done());
  std::map<int, int> roles;
  std::map<int, int> ends;
  for (const Json& chunk : answer.chunks()) {
    for (const Json& choice : chunk["choices"]) {
      roles[choice["index"]] += choice["delta"].contains("role") ? 1 : 0;
      ends[choice["index"]] += choice["finish_reason"].is_null() ? 0 : 1;
    }
  }
  EXPECT_EQ(roles, (std::map<int, int>{{0, 1}, {1, 1}, {2, 1}}));
  EXPECT_EQ(ends, roles);
  EXPECT_EQ(answer.text(1), "B");
  EXPECT_EQ(answer.chunks().back()["usage"]["prompt_tokens"], 21);
}

TEST(Samples, ForkTheFirstOneOfTheirPromptWithSeedsOfTheirOwn) {
  Served served;
  say_letters(served);
  ASSERT_EQ(
      served.post("/v1/completions", {{"prompt", {"ab", "cde"}}, {"n", 3}, {"seed", 7}}).status,
      200);
  const auto specs = served.engine().submitted();
  ASSERT_EQ(specs.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(specs[i].prompt, byte_tokens(i < 3 ? "ab" : "cde"));
    EXPECT_EQ(specs[i].sampling.seed, seed_of_sample(7, i % 3));
    if (i % 3 == 0) {
      EXPECT_EQ(specs[i].fork_of, std::nullopt);
    } else {
      EXPECT_EQ(specs[i].fork_of, specs[i - i % 3].id);
    }
  }
}

TEST(Samples, SeedsAreAFixedRule) {
  EXPECT_EQ(seed_of_sample(7, 0), 7u) << "one sample is what it was";
  EXPECT_EQ(seed_of_sample(7, 2), random_bits(7, (std::uint64_t{1} << 63) + 2));
  std::set<std::uint64_t> seeds;
  for (std::size_t i = 0; i < 64; ++i) seeds.insert(seed_of_sample(7, i));
  EXPECT_EQ(seeds.size(), 64u);
}

TEST(Samples, LeavingClientsAbortAllOfThem) {  // report B014
  Served served;
  served.engine().on_submit(
      [](const sched::GenerateSpec&) { return FakeReply{.finish = std::nullopt}; });
  for (const bool stream : {true, false}) {
    auto peer = served.open_post("/v1/completions", completion({{"n", 3}, {"stream", stream}}));
    ASSERT_TRUE(net::eventually([&] { return served.engine().open_requests() == 3; }));
    peer->close();
    EXPECT_TRUE(net::eventually([&] { return served.engine().open_requests() == 0; }));
  }
  EXPECT_TRUE(
      net::eventually([&] { return served.metric("vllm:request_success_total", "abort") == 6; }));
}

TEST(Place, ReachesTheEngineAsItWasAsked) {
  Served served;
  const Json kantha{{"tenant", "t"}, {"class", "agent"}, {"timeout_ms", 5000}};
  served.post("/v1/completions", completion({{"priority", -3}, {"kantha", kantha}}));
  served.post("/v1/completions", completion({{"service_tier", "flex"}}));
  const auto specs = served.engine().submitted();
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_EQ(specs[0].tenant, "t");
  EXPECT_EQ(specs[0].slo, sched::SloClass::kAgent);
  EXPECT_EQ(specs[0].priority, -3);
  EXPECT_EQ(specs[0].deadline, specs[0].arrived + std::chrono::seconds(5));
  EXPECT_EQ(specs[0].salt, 0u);
  EXPECT_EQ(specs[1].slo, sched::SloClass::kBatch);
  EXPECT_EQ(specs[1].deadline, std::nullopt);
}

TEST(Place, SaltsKeepTenantsApart) {
  EXPECT_EQ(salt_of("a", ""), 0u) << "without a salt everybody shares";
  EXPECT_EQ(salt_of("a", "s"), salt_of("a", "s"));
  const std::set<std::uint64_t> salts{salt_of("a", "bc"), salt_of("ab", "c"), salt_of("", "abc"),
                                      salt_of("a", "s"), salt_of("b", "s")};
  EXPECT_EQ(salts.size(), 5u);
  EXPECT_FALSE(salts.contains(0));
}

TEST(Deadline, IsA504OfItsOwn) {
  Served served;
  served.engine().on_submit([](const sched::GenerateSpec&) {
    return FakeReply{.tokens = byte_tokens("ab"), .finish = FinishReason::kDeadline};
  });
  const Json more{{"kantha", {{"timeout_ms", 60'000}}}};
  const auto whole = served.post("/v1/completions", completion(more));
  EXPECT_EQ(whole.status, 504);
  EXPECT_EQ(error_key(whole, "code"), "deadline_exceeded");
  EXPECT_EQ(error_key(whole, "type"), "timeout_error");
  EXPECT_NE(error_key(whole, "message").find("60000 ms"), std::string::npos);
  Json streamed = completion(more);
  streamed["stream"] = true;
  const auto answer = served.stream("/v1/completions", streamed);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.text(), "ab");
  EXPECT_EQ(answer.chunks().back()["error"]["code"], "deadline_exceeded");
  EXPECT_FALSE(answer.done());
  EXPECT_EQ(served.metric("vllm:request_success_total", "deadline"), 2);
}

TEST(Deadline, OfOneSampleEndsThemAll) {
  Served served;
  served.engine().on_submit([](const sched::GenerateSpec& spec) {
    return FakeReply{.finish =
                         spec.fork_of ? std::optional(FinishReason::kDeadline) : std::nullopt};
  });
  EXPECT_EQ(served.post("/v1/completions", completion({{"n", 2}})).status, 504);
  EXPECT_TRUE(net::eventually([&] { return served.engine().open_requests() == 0; }));
}

}  // namespace
}  // namespace kantha::serve
