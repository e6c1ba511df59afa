#include "base/net/bearer_token.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/base/net/loopback.h"

namespace kantha::net {
namespace {

TEST(BearerToken, OpensForOneExactFieldOnly) {
  const struct {
    const char* what;
    Headers headers;
    bool opens;
  } cases[] = {
      {"the token", {{"Authorization", "Bearer secret"}}, true},
      {"a field name in other case", {{"aUTHORIZATION", "Bearer secret"}}, true},
      {"no field", {}, false},
      {"another token", {{"Authorization", "Bearer secreT"}}, false},
      {"a longer token", {{"Authorization", "Bearer secretx"}}, false},
      {"its beginning", {{"Authorization", "Bearer secre"}}, false},
      {"no scheme", {{"Authorization", "secret"}}, false},
      {"another scheme", {{"Authorization", "Basic secret"}}, false},
      {"two fields",
       {{"Authorization", "Bearer secret"}, {"Authorization", "Bearer secret"}},
       false},
      {"another field", {{"X-Authorization", "Bearer secret"}}, false},
  };
  for (const auto& [what, headers, opens] : cases) {
    EXPECT_EQ(has_bearer_token(headers, "secret"), opens) << what;
  }
}

TEST(BearerToken, AnEmptyTokenFitsNobody) {
  EXPECT_FALSE(has_bearer_token({{"Authorization", "Bearer "}}, ""));
}

TEST(BearerToken, IsTheFirstLineOfAFile) {
  const TempDir folder;
  const std::string path = folder.file("token");
  std::ofstream(path) << "  secret \r\nsecond line\n";
  EXPECT_EQ(read_token_file(path).value(), "secret");
  for (const std::string& bad : {std::string(), std::string("\n"), std::string(5000, 'x')}) {
    std::ofstream(path, std::ios::trunc) << bad;
    const auto token = read_token_file(path);
    ASSERT_FALSE(token.ok());
    EXPECT_NE(token.error().message.find(path), std::string::npos) << token.error().message;
  }
  EXPECT_EQ(read_token_file(folder.file("none")).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace kantha::net
