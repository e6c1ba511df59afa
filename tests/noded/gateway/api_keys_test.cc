#include "noded/gateway/api_keys.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/digest.h"

namespace kantha::noded {
namespace {

/// One entry with the digest of `key`.
std::string entry(std::string_view key, const std::string& rest = R"("tenant":"blue")") {
  return R"({"sha256":")" + sha256_hex(key) + "\"" + (rest.empty() ? "" : ",") + rest + "}";
}

std::string keys(const std::string& entries) { return R"({"keys":[)" + entries + "]}"; }

TEST(ApiKeys, AnEntryGivesWhatItSays) {
  const auto read = ApiKeys::read(
      keys(entry("red-key", R"("tenant":"red")") + "," +
           entry("blue-key", R"("tenant":"blue","models":["m","n"],"requestsPerMinute":60,
             "tokensPerMinute":1000,"maxConcurrent":2,"priority":-3,"class":"batch",
             "privateCache":true)")));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->count(), 2U);
  const KeyGrant* blue = read->find("blue-key");
  ASSERT_NE(blue, nullptr);
  EXPECT_EQ(blue->tenant, "blue");
  EXPECT_EQ(blue->limits, (RateLimits{60, 1000, 2}));
  EXPECT_EQ(blue->priority, -3);
  EXPECT_EQ(blue->slo_class, "batch");
  EXPECT_TRUE(blue->private_cache);
  EXPECT_TRUE(blue->may_use("n"));
  EXPECT_FALSE(blue->may_use("o"));
  const KeyGrant* red = read->find("red-key");
  ASSERT_NE(red, nullptr);
  EXPECT_EQ(red->tenant, "red");
  EXPECT_EQ(red->limits, RateLimits());
  EXPECT_FALSE(red->priority.has_value());
  EXPECT_TRUE(red->may_use("whatever"));
}

TEST(ApiKeys, KeysThatAreNotListedGiveNothing) {
  const auto read = ApiKeys::read(keys(entry("right")));
  ASSERT_TRUE(read.ok());
  for (const char* key : {"", "Right", "right ", "righ", "rightt", "blue"}) {
    EXPECT_EQ(read->find(key), nullptr) << key;
  }
  // A digest is not its key.
  EXPECT_EQ(read->find(sha256_hex("right")), nullptr);
}

TEST(ApiKeys, FindsTheFirstAndTheLastOfMany) {
  std::string entries;
  for (int i = 0; i < 500; ++i) {
    entries += (i > 0 ? "," : "") +
               entry("key-" + std::to_string(i), R"("tenant":"t)" + std::to_string(i) + "\"");
  }
  const auto read = ApiKeys::read(keys(entries));
  ASSERT_TRUE(read.ok()) << read.error().message;
  for (int i : {0, 1, 250, 498, 499}) {
    const KeyGrant* grant = read->find("key-" + std::to_string(i));
    ASSERT_NE(grant, nullptr) << i;
    EXPECT_EQ(grant->tenant, "t" + std::to_string(i));
  }
  EXPECT_EQ(read->find("key-500"), nullptr);
}

TEST(ApiKeys, AnEmptyListIsReadAndLetsNobodyIn) {
  const auto read = ApiKeys::read(R"({"keys": []})");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->count(), 0U);
  EXPECT_EQ(read->find("x"), nullptr);
}

TEST(ApiKeys, ReadsDigestsInCapitals) {
  std::string digest = sha256_hex("k");
  for (char& c : digest) c = static_cast<char>(std::toupper(c));
  const auto read = ApiKeys::read(keys(R"({"sha256":")" + digest + R"(","tenant":"blue"})"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_NE(read->find("k"), nullptr);
}

TEST(ApiKeys, WhatIsWrongIsNamedWithItsPlaceAndWithoutItsContent) {
  struct Case {
    std::string text;
    const char* says;
  };
  const std::string good = entry("a");
  const std::vector<Case> cases = {
      {"", "invalid JSON at byte 0"},
      {" \n", "invalid JSON at byte"},
      {"{", "invalid JSON at byte 1"},
      {keys(good) + "x", "invalid JSON at byte"},
      {"[]", "expected an object"},
      {"keys: []", "invalid JSON at byte 0"},
      {"{}", "keys: required; [] lets nobody in"},
      {R"({"keys":null})", "keys: required"},
      {R"({"keys":{}})", "keys: expected an array"},
      {R"({"keys":[7]})", "keys[0]: expected an object"},
      {R"({"keys":[],"key":[]})", "key"},
      {keys(good + "," + good), "keys[1].sha256: this digest stands here twice"},
      {keys(R"({"tenant":"blue"})"), "keys[0].sha256: required"},
      {keys(good + R"(,{"sha256":"abc","tenant":"b"})"),
       "keys[1].sha256: expected 64 hexadecimal digits (kantha key digest), got 3 characters"},
      {keys(R"({"sha256":"sk-secret-secret-secret-secret-secret-secret-secret-secret-secret-se",
               "tenant":"b"})"),
       "keys[0].sha256: expected 64 hexadecimal digits"},
      {keys(R"({"sha256":5,"tenant":"b"})"), "keys[0].sha256: expected a string"},
      {keys(entry("a", "")), "keys[0].tenant: required"},
      {keys(entry("a", R"("tenant":"")")), "keys[0].tenant: expected 1 to 64 letters"},
      {keys(entry("a", R"("tenant":"b c")")), "keys[0].tenant: expected 1 to 64 letters"},
      {keys(entry("a", R"("tenant":")" + std::string(65, 't') + "\"")), "got 65 characters"},
      {keys(entry("a", R"("tenant":"b","models":"m")")), "keys[0].models: expected an array"},
      {keys(entry("a", R"("tenant":"b","requestsPerMinute":-1)")), "keys[0].requestsPerMinute"},
      {keys(entry("a", R"("tenant":"b","tokensPerMinute":"9")")), "keys[0].tokensPerMinute"},
      {keys(entry("a", R"("tenant":"b","maxConcurrent":1.5)")), "keys[0].maxConcurrent"},
      {keys(entry("a", R"("tenant":"b","priority":3000000000)")), "keys[0].priority"},
      {keys(entry("a", R"("tenant":"b","class":"fast")")),
       "keys[0].class: expected interactive, agent or batch"},
      {keys(entry("a", R"("tenant":"b","rpm":5)")), "rpm"},
      {keys(entry("a", R"("tenant":"b","maxConcurrent":1)") + "," + entry("b", R"("tenant":"b")")),
       "keys[1]: tenant \"b\" has other rates by keys[0]"},
  };
  for (const Case& c : cases) {
    const auto read = ApiKeys::read(c.text);
    ASSERT_FALSE(read.ok()) << c.text;
    EXPECT_NE(read.error().message.find(c.says), std::string::npos)
        << c.text << "\n  " << read.error().message;
    EXPECT_EQ(read.error().message.find("sk-secret"), std::string::npos) << read.error().message;
  }
}

TEST(ApiKeys, TooManyAreRefusedWithTheLimit) {
  std::string entries;
  for (int i = 0; i < 10'001; ++i) entries += std::string(i > 0 ? "," : "") + "1";
  const auto read = ApiKeys::read(keys(entries));
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("10000"), std::string::npos) << read.error().message;
}

TEST(PresentedKey, IsReadAsClientsSendIt) {
  struct Case {
    net::Headers headers;
    const char* key;  ///< nullptr: refused
  };
  const std::vector<Case> cases = {
      {{{"Authorization", "Bearer k"}}, "k"},
      {{{"authorization", "bearer k"}}, "k"},
      {{{"AUTHORIZATION", " BEARER   k "}}, "k"},
      {{{"x-api-key", "k"}}, "k"},
      {{{"Api-Key", " k"}}, "k"},
      {{{"Authorization", "Bearer k"}, {"x-api-key", "k"}}, "k"},
      {{{"api-key", "k"}, {"api-key", "k"}}, "k"},
      {{}, nullptr},
      {{{"Authorization", ""}}, nullptr},
      {{{"Authorization", "Bearer"}}, nullptr},
      {{{"Authorization", "Bearer "}}, nullptr},
      {{{"Authorization", "k"}}, nullptr},
      {{{"Authorization", "Basic k"}}, nullptr},
      {{{"Authorization", "Basic k"}, {"x-api-key", "k"}}, nullptr},
      {{{"Authorization", "Bearer k"}, {"Authorization", "Bearer j"}}, nullptr},
      {{{"Authorization", "Bearer k"}, {"x-api-key", "j"}}, nullptr},
      {{{"x-api-key", ""}}, nullptr},
      {{{"x-api-key", std::string(513, 'k')}}, nullptr},
      {{{"Cookie", "api-key=k"}}, nullptr},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto key = presented_key(cases[i].headers);
    EXPECT_EQ(key.ok(), cases[i].key != nullptr) << i;
    if (key.ok()) {
      EXPECT_EQ(*key, cases[i].key) << i;
    } else {
      EXPECT_EQ(key.error().code, Code::kUnauthenticated) << i;
    }
  }
}

TEST(PresentedKey, NoFieldThatCarriesOneStays) {
  net::Headers headers = {{"Authorization", "Bearer k"},
                          {"X-API-Key", "k"},
                          {"API-KEY", "k"},
                          {"authorization", "Bearer j"},
                          {"Accept", "*/*"}};
  remove_keys(headers);
  ASSERT_EQ(headers.all().size(), 1U);
  EXPECT_EQ(headers.all().front().first, "Accept");
}

}  // namespace
}  // namespace kantha::noded
