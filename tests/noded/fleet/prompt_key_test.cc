#include "noded/fleet/prompt_key.h"

#include <gtest/gtest.h>

#include <string>

namespace kantha::noded {
namespace {

constexpr std::string_view kChat = "/v1/chat/completions";
constexpr std::string_view kText = "/v1/completions";
const std::string kLong(300, 'a');

std::string chat(const std::string& system, const std::string& user) {
  return R"({"model":"m","messages":[{"role":"system","content":")" + system +
         R"("},{"role":"user","content":")" + user + R"("}],"stream":true})";
}

std::string text(const std::string& prompt) {
  return R"({"prompt":")" + prompt + R"(","max_tokens":4})";
}

TEST(PromptKey, RequestsThatBeginAlikeHaveOneKey) {
  const auto key = prompt_key(kChat, chat(kLong, "one"), "");
  ASSERT_TRUE(key);
  EXPECT_EQ(key, prompt_key(kChat, chat(kLong, "another question"), ""));
  EXPECT_NE(key, prompt_key(kChat, chat("b" + kLong, "one"), ""));
  EXPECT_EQ(prompt_key(kText, text(kLong + "x"), ""), prompt_key(kText, text(kLong + "yz"), ""));
  EXPECT_NE(prompt_key(kText, text("x" + kLong), ""), prompt_key(kText, text("y" + kLong), ""));
}

TEST(PromptKey, TenantsShareNone) {
  EXPECT_NE(prompt_key(kChat, chat(kLong, "one"), "blue"),
            prompt_key(kChat, chat(kLong, "one"), "red"));
}

TEST(PromptKey, DoesNotDependOnBlanksNorOnWhatStandsBefore) {
  const auto key = prompt_key(kText, text(kLong), "");
  ASSERT_TRUE(key);
  const std::string spaced =
      "\n { \"temperature\" : 0.5 , \"stop\": [\"a\", {\"prompt\": 1}] ,\r\n"
      "\t\"user\": \"\\\"prompt\\\": \\\\\", \"prompt\" : \"" +
      kLong + "\" }";
  EXPECT_EQ(prompt_key(kText, spaced, ""), key);
  const std::string in_parts =
      R"({"messages": [ {"role": "system", "content": [ {"type": "text", "text": ")" + kLong +
      R"("}]} ]})";
  std::string tight = in_parts;
  std::erase(tight, ' ');
  EXPECT_EQ(prompt_key(kChat, in_parts, ""), prompt_key(kChat, tight, ""));
}

TEST(PromptKey, BlanksInsideThePromptCount) {
  EXPECT_NE(prompt_key(kText, text("a b" + kLong), ""), prompt_key(kText, text("ab" + kLong), ""));
}

TEST(PromptKey, EndsWithThePromptAndNotBehindIt) {
  const std::string prompt(100, 'p');
  EXPECT_EQ(prompt_key(kText, R"({"prompt":")" + prompt + R"(","seed":1})", ""),
            prompt_key(kText, R"({"prompt":")" + prompt + R"(","seed":2,"x":[]})", ""));
}

TEST(PromptKey, WhatHasNoPromptOrAShortOneHasNoKey) {
  const std::string cases[] = {
      "",
      "[]",
      "{",
      "{}",
      R"({"prompt")",
      R"({"prompt":)",
      "null",
      "\"",
      R"({"a":"\)",
      R"({"a":1 2})",
      text("Hello"),
      R"({"prompt":5})",
      "{{{{{{",
      R"({"a":)" + std::string(100'000, '['),
      R"({"nested":{"prompt":")" + kLong + "\"}}",
  };
  for (const std::string& body : cases)
    EXPECT_FALSE(prompt_key(kText, body, "")) << body.substr(0, 40);
  EXPECT_FALSE(prompt_key("/v1/embeddings", text(kLong), ""));
}

TEST(PromptKey, LooksNoFurtherThanItsBound) {
  PromptKeyPolicy policy;
  policy.scan_bytes_max = 1000;
  const std::string near =
      R"({"tools":")" + std::string(500, 't') + R"(","prompt":")" + kLong + "\"}";
  const std::string far =
      R"({"tools":")" + std::string(1500, 't') + R"(","prompt":")" + kLong + "\"}";
  EXPECT_TRUE(prompt_key(kText, near, "", policy));
  EXPECT_FALSE(prompt_key(kText, far, "", policy));
}

TEST(PromptKey, EveryCutOfABodyIsSafe) {
  const std::string body = chat(kLong + "\\\"\\u0041\\\\", "x");
  for (std::size_t size = 0; size <= body.size(); ++size) {
    static_cast<void>(prompt_key(kChat, std::string_view(body).substr(0, size), ""));
  }
}

}  // namespace
}  // namespace kantha::noded
