#include "noded/gateway/request_stamp.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/json.h"

namespace kantha::noded {
namespace {

KeyGrant blue() {
  KeyGrant grant;
  grant.tenant = "blue";
  return grant;
}

std::string stamped(const std::string& body, const KeyGrant& grant) {
  const RequestFacts facts = read_request_facts(body);
  EXPECT_TRUE(facts.outline.has_value()) << body;
  return facts.outline ? stamped_body(body, facts, grant) : std::string();
}

TEST(RequestStamp, ReadsModelAndStreamWithoutATree) {
  const RequestFacts facts = read_request_facts(R"( {"stream":true,"model":"a\u0062","x":[{}]} )");
  ASSERT_TRUE(facts.outline.has_value());
  EXPECT_EQ(facts.model, "ab");
  EXPECT_TRUE(facts.streams);
  EXPECT_FALSE(read_request_facts(R"({"model":7})").model.has_value());
  EXPECT_FALSE(read_request_facts(R"({"stream":"true"})").streams);
  for (const char* body :
       {"", "[]", "7", "{", R"({"a":1,"a":2})", R"({"a":1,"\u0061":2})", "{}x"}) {
    EXPECT_FALSE(read_request_facts(body).outline.has_value()) << body;
  }
}

TEST(RequestStamp, TheTenantIsTheHoldersWhateverTheClientWrote) {
  struct Case {
    const char* body;
    const char* stamped;
  };
  const std::vector<Case> cases = {
      {R"({})", R"({"kantha":{"tenant":"blue"}})"},
      {R"({"prompt":"a"})", R"({"prompt":"a","kantha":{"tenant":"blue"}})"},
      {R"( { "seed" : 18446744073709551615 } )",
       R"( { "seed" : 18446744073709551615 ,"kantha":{"tenant":"blue"}} )"},
      {R"({"kantha":null,"p":1})", R"({"kantha":{"tenant":"blue"},"p":1})"},
      {R"({"kantha":{}})", R"({"kantha":{"tenant":"blue"}})"},
      {R"({"kantha":{"tenant":"red"},"p":1})", R"({"kantha":{"tenant":"blue"},"p":1})"},
      {R"({"kantha":{"t\u0065nant":"red"}})", R"({"kantha":{"tenant":"blue"}})"},
      {R"({"k\u0061ntha":{"tenant":"red"}})", R"({"k\u0061ntha":{"tenant":"blue"}})"},
      {R"({"kantha":{"timeout_ms":5,"class":"agent","resume":{"token_ids":[1, 2]}}})",
       R"({"kantha":{"timeout_ms":5,"class":"agent","resume":{"token_ids":[1, 2]},"tenant":"blue"}})"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(stamped(c.body, blue()), c.stamped) << c.body;
    EXPECT_TRUE(parse_json(stamped(c.body, blue())).ok());
  }
}

TEST(RequestStamp, AVendorFieldThatIsNoObjectStaysForTheEngineToRefuse) {
  for (const char* body : {R"({"kantha":7})", R"({"kantha":"x"})", R"({"kantha":[1]})",
                           R"({"kantha":{"tenant":"red","tenant":"red"}})"}) {
    EXPECT_EQ(stamped(body, blue()), body);
  }
}

TEST(RequestStamp, NobodyGetsABetterPlaceThanTheirKeyHas) {
  struct Case {
    const char* given;
    const char* sent;
  };
  const std::vector<Case> cases = {{"-5", "10"},
                                   {"9", "10"},
                                   {"10", "10"},
                                   {"11", "11"},
                                   {"-1e3", "10"},
                                   {"null", "10"},
                                   {"12.0", "12.0"},
                                   {"3000000000", "3000000000"},
                                   {"99999999999999999999", "99999999999999999999"},
                                   {"-99999999999999999999", "-99999999999999999999"},
                                   {"\"-5\"", "\"-5\""},
                                   {"0.5", "0.5"}};
  KeyGrant grant = blue();
  grant.priority = 10;
  for (const Case& c : cases) {
    const std::string body = std::string(R"({"priority":)") + c.given + "}";
    EXPECT_EQ(stamped(body, grant),
              std::string(R"({"priority":)") + c.sent + R"(,"kantha":{"tenant":"blue"}})");
  }
  EXPECT_EQ(stamped("{}", grant), R"({"kantha":{"tenant":"blue"},"priority":10})");
  EXPECT_EQ(stamped(R"({"priority":-9})", blue()), R"({"priority":-9,"kantha":{"tenant":"blue"}})")
      << "a key without a priority sets none";
}

TEST(RequestStamp, AKeysClassAndItsOwnCacheAreSet) {
  KeyGrant grant = blue();
  grant.slo_class = "batch";
  grant.private_cache = true;
  EXPECT_EQ(stamped(R"({"kantha":{"class":"interactive"},"cache_salt":""})", grant),
            R"({"kantha":{"tenant":"blue","class":"batch"},"cache_salt":"own"})");
  EXPECT_EQ(stamped(R"({"cache_salt":"mine"})", grant),
            R"({"cache_salt":"mine","kantha":{"tenant":"blue","class":"batch"}})");
  EXPECT_EQ(stamped("{}", grant),
            R"({"cache_salt":"own","kantha":{"tenant":"blue","class":"batch"}})");
}

TEST(RequestStamp, LargeBodiesKeepTheirBytes) {
  const std::string prompt(4u << 20, 'a');
  const std::string body = R"({"prompt":")" + prompt + R"(","n":1})";
  EXPECT_EQ(stamped(body, blue()),
            R"({"prompt":")" + prompt + R"(","n":1,"kantha":{"tenant":"blue"}})");
  EXPECT_NEAR(estimated_tokens(body), 1 << 20, 10);
}

}  // namespace
}  // namespace kantha::noded
