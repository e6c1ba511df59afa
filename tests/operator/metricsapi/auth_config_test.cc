#include "operator/metricsapi/auth_config.h"

#include <gtest/gtest.h>

namespace kantha::metricsapi {
namespace {

Json config_map() {
  return {{"data",
           {{"requestheader-client-ca-file", "PEM"},
            {"requestheader-allowed-names", R"(["front-proxy-client"])"},
            {"requestheader-username-headers", R"(["X-Remote-User"])"},
            {"requestheader-group-headers", R"(["X-Remote-Group"])"},
            {"requestheader-extra-headers-prefix", R"(["X-Remote-Extra-"])"}}}};
}

const net::Headers kHeaders = {{"x-remote-user", "system:serviceaccount:kube-system:hpa"},
                               {"X-Remote-Group", "a"},
                               {"X-Remote-Group", "b"},
                               {"X-Remote-Uid", "uid-1"},
                               {"X-Remote-Extra-Example.com%2FTeam", "x"}};

TEST(AuthConfig, ReadsTheConfigMap) {
  const auto config = auth_config_from_json(config_map());
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->requestheader_ca_pem, "PEM");
  EXPECT_EQ(config->allowed_names, std::vector<std::string>{"front-proxy-client"});
  EXPECT_TRUE(config->uid_headers.empty()) << "no default: older API servers would pass it on";
  EXPECT_EQ(auth_config_from_json(Json::object()).value(), AuthConfig{});
  Json wrong = config_map();
  wrong["data"]["requestheader-allowed-names"] = "front-proxy-client";
  const auto refused = auth_config_from_json(wrong);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("requestheader-allowed-names"), std::string::npos);
}

TEST(UserFromHeaders, BelievesOnlyTheFrontProxy) {
  const AuthConfig config = auth_config_from_json(config_map()).value();
  const auto user = user_from_headers(config, kHeaders, "front-proxy-client");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "system:serviceaccount:kube-system:hpa");
  EXPECT_EQ(user->groups, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(user->uid, "") << "that header is not in the config";
  EXPECT_EQ(user->extra.at("example.com/team"), std::vector<std::string>{"x"});

  EXPECT_FALSE(user_from_headers(config, kHeaders, std::nullopt)) << "no certificate";
  EXPECT_FALSE(user_from_headers(config, kHeaders, "somebody")) << "another name";
  EXPECT_FALSE(user_from_headers(config, kHeaders, "")) << "no name";
  EXPECT_FALSE(user_from_headers(config, {}, "front-proxy-client")) << "for nobody";
  EXPECT_FALSE(user_from_headers({}, kHeaders, "front-proxy-client")) << "no config yet";
  AuthConfig any = config;
  any.allowed_names.clear();
  EXPECT_TRUE(user_from_headers(any, kHeaders, "somebody"));
}

}  // namespace
}  // namespace kantha::metricsapi
