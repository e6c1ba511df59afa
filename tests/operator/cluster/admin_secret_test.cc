#include "operator/cluster/admin_secret.h"

#include <gtest/gtest.h>

#include "operator/cluster/child_object.h"

namespace kantha::cluster {
namespace {

Json secret(const std::string& data, const std::string& owner) {
  return {{"metadata",
           {{"name", "m-admin"},
            {"namespace", "a"},
            {"ownerReferences",
             {{{"kind", "ModelServing"}, {"name", "m"}, {"uid", owner}, {"controller", true}}}}}},
          {"data", {{"token", data}}}};
}

TEST(AdminSecret, TokensAreLongPlainAndNeverTheSame) {
  const std::string token = random_token();
  EXPECT_EQ(token.size(), 43u) << "32 bytes as base64url";
  EXPECT_EQ(token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                    "0123456789-_"),
            std::string::npos);
  EXPECT_NE(token, random_token());
}

TEST(AdminSecret, ATokenIsReadFromASecretThatIsOurs) {
  EXPECT_EQ(*admin_token_of(secret("c2VjcmV0", "u1"), "u1"), "secret");
  EXPECT_EQ(*admin_token_of(secret("c2VjcmV0Cg==", "u1"), "u1"), "secret") << "a last line end";
  const struct {
    Json secret;
    const char* message;
  } cases[] = {
      {secret("c2VjcmV0", "u2"), "does not belong"},
      {secret("", "u1"), "no header value"},
      {secret("YQ0KYg==", "u1"), "no header value"},
      {secret("c2V*", "u1"), "byte 3"},
      {{{"metadata", {{"name", "m-admin"}}}}, "does not belong"},
      {Json::object(), "missing"},
  };
  for (const auto& c : cases) {
    const Result<std::string> token = admin_token_of(c.secret, "u1");
    ASSERT_FALSE(token.ok()) << c.secret;
    EXPECT_NE(token.error().message.find(c.message), std::string::npos) << token.error().message;
  }
}

TEST(AdminSecret, Base64IsReadAsRfc4648Has) {
  const struct {
    const char* text;
    const char* bytes;
  } cases[] = {{"", ""}, {"Zg==", "f"}, {"Zm8=", "fo"}, {"Zm9v", "foo"}, {"Zm9vYmFy", "foobar"}};
  for (const auto& c : cases) EXPECT_EQ(*base64_bytes(c.text), c.bytes) << c.text;
  EXPECT_FALSE(base64_bytes("Zg===").ok());
}

TEST(ChildObject, KeepsContentAndOwnerAndDropsWhatTheServerKeepsForItself) {
  const Json object = {{"apiVersion", "v1"},
                       {"kind", "Service"},
                       {"metadata",
                        {{"name", "m"},
                         {"namespace", "a"},
                         {"uid", "s1"},
                         {"resourceVersion", "7"},
                         {"creationTimestamp", "2026-11-30T00:00:00Z"},
                         {"labels", {{"serving.kantha.dev/name", "m"}}},
                         {"managedFields", {{{"manager", "x"}}}},
                         {"ownerReferences",
                          {{{"apiVersion", "serving.kantha.dev/v1alpha1"},
                            {"kind", "ModelServing"},
                            {"name", "m"},
                            {"uid", "u1"},
                            {"controller", true}}}}}},
                       {"spec", {{"clusterIP", "10.0.0.1"}}},
                       {"status", {{"loadBalancer", Json::object()}}}};
  const Result<ChildObject> child = child_object_from_json(object);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child->owner_uid, "u1");
  EXPECT_EQ(child->serving, "m");
  EXPECT_EQ(child->meta.resource_version, "7");
  const Json back = child->json();
  EXPECT_EQ(back.at("spec"), object.at("spec"));
  EXPECT_EQ(back.at("metadata").at("labels"), object.at("metadata").at("labels"));
  EXPECT_FALSE(back.contains("status"));
  EXPECT_FALSE(back.at("metadata").contains("managedFields"));
  EXPECT_TRUE(bare_child_from_json(object)->text.empty());
  EXPECT_FALSE(child_object_from_json(Json::array()).ok());
}

}  // namespace
}  // namespace kantha::cluster
