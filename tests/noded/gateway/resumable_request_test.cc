#include "noded/gateway/resumable_request.h"

#include <gtest/gtest.h>

#include <array>

#include "base/json.h"
#include "base/rng.h"

namespace kantha::noded {
namespace {

constexpr char kChat[] = "/v1/chat/completions";
constexpr char kText[] = "/v1/completions";
constexpr std::array<TokenId, 3> kSent = {7, 0, 49'151};

/// Numbers that are the same in every run.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  std::size_t below(std::size_t count) { return random_bits(seed_, ++rolls_) % count; }

 private:
  std::uint64_t seed_;
  std::uint64_t rolls_ = 0;
};

std::string first_body(const std::string& body, const char* path = kText) {
  const auto request = ResumableRequest::read(path, body);
  return request ? request->body_for(body, {}) : "not resumable";
}

std::string next_body(const std::string& body, Duration elapsed = {}, const char* path = kText) {
  const auto request = ResumableRequest::read(path, body);
  if (!request) return "not resumable";
  return request->body_for(body, {.token_ids = kSent, .seed = "123", .elapsed = elapsed});
}

TEST(ResumableRequest, AsksForTokenIdsAndThenToGoOnAfterThem) {
  const struct {
    const char* name;
    const char* body;
    const char* first;
    const char* next;
  } cases[] = {
      {"nothing of ours", R"({"prompt":"a","stream":true})",
       R"({"prompt":"a","stream":true,"kantha":{"return_token_ids":true}})",
       R"({"prompt":"a","stream":true,"kantha":{"return_token_ids":true,"resume":{"token_ids":[7,0,49151]}},"seed":123})"},
      {"blanks stay", "  { \"prompt\" : \"a\" ,\n\"stream\":true }\n",
       "  { \"prompt\" : \"a\" ,\n\"stream\":true ,\"kantha\":{\"return_token_ids\":true}}\n",
       "  { \"prompt\" : \"a\" ,\n\"stream\":true "
       ",\"kantha\":{\"return_token_ids\":true,\"resume\":{\"token_ids\":[7,0,49151]}},"
       "\"seed\":123}\n"},
      {"the client's seed keeps its digits",
       R"({"seed":9007199254740993,"temperature":1.10,"prompt":"a","stream":true})",
       R"({"seed":9007199254740993,"temperature":1.10,"prompt":"a","stream":true,"kantha":{"return_token_ids":true}})",
       R"({"seed":9007199254740993,"temperature":1.10,"prompt":"a","stream":true,"kantha":{"return_token_ids":true,"resume":{"token_ids":[7,0,49151]}}})"},
      {"a seed of null", R"({"seed":null,"prompt":"a","stream":true,"kantha":null})",
       R"({"seed":null,"prompt":"a","stream":true,"kantha":{"return_token_ids":true}})",
       R"({"seed":123,"prompt":"a","stream":true,"kantha":{"return_token_ids":true,"resume":{"token_ids":[7,0,49151]}}})"},
      {"our object, empty", R"({"kantha":{ },"prompt":"a","stream":true,"seed":1})",
       R"({"kantha":{ "return_token_ids":true},"prompt":"a","stream":true,"seed":1})",
       R"({"kantha":{ "return_token_ids":true,"resume":{"token_ids":[7,0,49151]}},"prompt":"a","stream":true,"seed":1})"},
      {"our object, in use",
       R"({"kantha":{"return_token_ids":false,"tenant":"x"},"prompt":"a","stream":true,"seed":1})",
       R"({"kantha":{"return_token_ids":true,"tenant":"x"},"prompt":"a","stream":true,"seed":1})",
       R"({"kantha":{"return_token_ids":true,"tenant":"x","resume":{"token_ids":[7,0,49151]}},"prompt":"a","stream":true,"seed":1})"},
      {"a client that resumes itself",
       R"({"kantha":{"resume":{"token_ids":[1,2]}},"prompt":"a","stream":true,"seed":1})",
       R"({"kantha":{"resume":{"token_ids":[1,2]},"return_token_ids":true},"prompt":"a","stream":true,"seed":1})",
       R"({"kantha":{"resume":{"token_ids":[1,2,7,0,49151]},"return_token_ids":true},"prompt":"a","stream":true,"seed":1})"},
      {"a client that resumes from nothing",
       R"({"kantha":{"resume":{"token_ids":[]}},"prompt":"a","stream":true,"seed":1})",
       R"({"kantha":{"resume":{"token_ids":[]},"return_token_ids":true},"prompt":"a","stream":true,"seed":1})",
       R"({"kantha":{"resume":{"token_ids":[7,0,49151]},"return_token_ids":true},"prompt":"a","stream":true,"seed":1})"},
      {"resume: null", R"({"kantha":{"resume":null},"prompt":"a","stream":true,"seed":1})",
       R"({"kantha":{"resume":null,"return_token_ids":true},"prompt":"a","stream":true,"seed":1})",
       R"({"kantha":{"resume":{"token_ids":[7,0,49151]},"return_token_ids":true},"prompt":"a","stream":true,"seed":1})"},
      {"an escaped name", R"({"prompt":"a","str\u0065am":true,"seed":1})",
       R"({"prompt":"a","str\u0065am":true,"seed":1,"kantha":{"return_token_ids":true}})",
       R"({"prompt":"a","str\u0065am":true,"seed":1,"kantha":{"return_token_ids":true,"resume":{"token_ids":[7,0,49151]}}})"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(first_body(c.body), c.first) << c.name;
    EXPECT_EQ(next_body(c.body), c.next) << c.name;
  }
}

TEST(ResumableRequest, GoesOnWithWhatIsLeftOfTheDeadline) {
  const std::string body = R"({"kantha":{"timeout_ms":5000},"prompt":"a","stream":true,"seed":1})";
  EXPECT_NE(first_body(body).find("\"timeout_ms\":5000"), std::string::npos);
  const std::string later = next_body(body, std::chrono::milliseconds(1200));
  EXPECT_NE(later.find("\"timeout_ms\":3800,"), std::string::npos) << later;
  const std::string over = next_body(body, std::chrono::seconds(9));
  EXPECT_NE(over.find("\"timeout_ms\":1,"), std::string::npos) << over;
}

TEST(ResumableRequest, KnowsWhetherTheClientAskedForTokenIds) {
  const auto wants = [](const std::string& vendor) {
    const std::string body = R"({"messages":[],"stream":true,"kantha":)" + vendor + "}";
    const auto request = ResumableRequest::read(kChat, body);
    EXPECT_TRUE(request) << vendor;
    return request && request->wants_token_ids();
  };
  EXPECT_TRUE(wants(R"({"return_token_ids": true})"));
  EXPECT_FALSE(wants(R"({"return_token_ids":false})"));
  EXPECT_FALSE(wants(R"({"return_token_ids":null})"));
  EXPECT_FALSE(wants("{}"));
}

TEST(ResumableRequest, OnePromptAndOneSample) {
  const char* good[] = {R"({"prompt":["a"],"stream":true})", R"({"prompt":[1,2,3],"stream":true})",
                        R"({"prompt":[[1,2,3]],"stream":true,"n":1})",
                        R"({"prompt":"","stream":true,"n":null})"};
  for (const char* body : good) EXPECT_NE(first_body(body), "not resumable") << body;
  const char* bad[] = {
      R"({"prompt":["a","b"],"stream":true})", R"({"prompt":[[1],[2]],"stream":true})",
      R"({"prompt":[],"stream":true})",        R"({"stream":true})",
      R"({"prompt":"a","stream":true,"n":2})", R"({"prompt":"a","stream":true,"n":"1"})",
      R"({"prompt":"a","stream":false})",      R"({"prompt":"a"})",
      R"({"prompt":"a","stream":"true"})"};
  for (const char* body : bad) EXPECT_EQ(first_body(body), "not resumable") << body;
}

TEST(ResumableRequest, WhatIsOddPassesUnchanged) {
  const char* odd[] = {"",
                       "{}",
                       "null",
                       "[1]",
                       R"({"prompt":"a","stream":true)",
                       R"({"prompt":"a","stream":true,})",
                       R"({"prompt":"a","stream":true}})",
                       R"({"prompt":"a","stream":true} x)",
                       R"({"prompt":"a","stream":true,"stream":true})",
                       R"({"prompt":"a","stream":true,"seed":1,"se\u0065d":2})",
                       R"({"prompt":"a","stream":true,"kantha":1})",
                       R"({"prompt":"a","stream":true,"kantha":{"resume":{}}})",
                       R"({"prompt":"a","stream":true,"kantha":{"resume":{"token_ids":1}}})",
                       R"({"prompt":"a","stream":true,"kantha":{"resume":{"token_ids":[1,]}}})",
                       R"({"prompt":"a","stream":true,"kantha":{"return_token_ids":1}})",
                       R"({"prompt":"a","stream":true,"kantha":{"timeout_ms":-5}})",
                       R"({"prompt":"a","stream":true,"kantha":{"timeout_ms":"5"}})",
                       R"({"prompt":"a \","stream":true})"};
  for (const char* body : odd) EXPECT_EQ(first_body(body), "not resumable") << body;
  EXPECT_FALSE(ResumableRequest::read("/v1/embeddings", R"({"prompt":"a","stream":true})"));
  const std::string large = R"({"prompt":")" + std::string(7u << 20, 'a') + R"(","stream":true})";
  EXPECT_EQ(first_body(large), "not resumable");
}

/// Random bodies of the kind that clients send, spelt at random.
std::string random_body(Dice& rng) {
  const auto pick = [&rng](std::initializer_list<const char*> words) {
    return std::string(words.begin()[rng.below(words.size())]);
  };
  std::vector<std::string> members = {pick({R"("prompt":"a\\")", R"("prompt" : ["x\"{["])",
                                            R"("prompt":[1, 2])", R"("prompt":"é\u00e9\n")"}),
                                      pick({R"("stream":true)", "\"stream\" :\ttrue"})};
  const auto maybe = [&](std::initializer_list<const char*> words) {
    if (rng.below(2) == 0) members.push_back(pick(words));
  };
  maybe({R"("seed":null)", R"("seed":-3)", R"("seed": 18446744073709551615)"});
  maybe({R"("n":1)", R"("n": null)"});
  maybe({R"("x":{"kantha":[{}],"y":"}"})", R"("logit_bias":{})", R"("stop":["\\","]"])"});
  maybe({R"("kantha":{})", R"("kantha":null)", R"("kantha":{"tenant":"}"})",
         R"("kantha":{"return_token_ids":false, "resume":{"token_ids":[ 4 ]}})",
         R"("kantha":{"resume":{"token_ids":[]},"timeout_ms":70})"});
  for (std::size_t i = members.size(); i > 1; --i) std::swap(members[i - 1], members[rng.below(i)]);
  std::string body = pick({"{", " {\n"});
  for (std::size_t i = 0; i < members.size(); ++i) body += (i > 0 ? ", " : "") + members[i];
  return body + pick({"}", " }\r\n"});
}

TEST(ResumableRequest, ChangesNothingButWhatItSays) {
  Dice rng(1);
  for (int round = 0; round < 3000; ++round) {
    const std::string body = random_body(rng);
    const auto request = ResumableRequest::read(kText, body);
    ASSERT_TRUE(request) << body;
    Json expected = Json::parse(body);
    const std::string next = request->body_for(body, {.token_ids = kSent, .seed = "123"});
    const auto got = parse_json(next);
    ASSERT_TRUE(got.ok()) << next;
    if (!expected.contains("seed") || expected["seed"].is_null()) expected["seed"] = 123;
    Json& vendor = expected["kantha"];
    if (vendor.is_null()) vendor = Json::object();
    vendor["return_token_ids"] = true;
    Json& ids = vendor["resume"]["token_ids"];
    if (ids.is_null()) ids = Json::array();
    for (const TokenId id : kSent) ids.push_back(id);
    ASSERT_EQ(*got, expected) << body;
  }
}

TEST(ResumableRequest, NeverMakesJsonOfWhatIsNone) {
  Dice rng(2);
  int resumable = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string body = random_body(rng);
    const std::size_t at = rng.below(body.size());
    if (rng.below(2) == 0) {
      body.erase(at, 1);
    } else {
      body.insert(at, 1, R"({}[],:"\1 )"[rng.below(10)]);
    }
    const auto request = ResumableRequest::read(kText, body);
    if (!request) continue;
    ++resumable;
    const std::string next = request->body_for(body, {.token_ids = kSent, .seed = "123"});
    ASSERT_EQ(parse_json(next).ok(), parse_json(body).ok()) << body << "\n" << next;
  }
  EXPECT_GT(resumable, 1000);
}

}  // namespace
}  // namespace kantha::noded
