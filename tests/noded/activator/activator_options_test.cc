#include "noded/activator/activator_options.h"

#include <gtest/gtest.h>

#include <vector>

namespace kantha::noded {
namespace {

Result<ActivatorOptions> parse(std::vector<const char*> words) {
  words.insert(words.begin(), {"kantha-noded", "--activator"});
  std::string help;
  return parse_activator_options(static_cast<int>(words.size()), words.data(), help);
}

TEST(ActivatorOptions, HaveBoundsByDefault) {
  const auto options = parse({});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->admin.to_string(), "127.0.0.1:8001");
  EXPECT_EQ(options->host, "127.0.0.1");
  EXPECT_EQ(options->hold_timeout, std::chrono::seconds(300));
  EXPECT_EQ(options->requests_max, 1024);
}

TEST(ActivatorOptions, NameWhatIsWrong) {
  const std::pair<std::vector<const char*>, const char*> table[] = {
      {{"--admin-listen=0.0.0.0:8001"}, "--admin-token-file"},
      {{"--admin-listen=*:8001"}, "--admin-token-file"},
      {{"--admin-listen=[::]:8001"}, "--admin-token-file"},
      {{"--admin-listen=nonsense"}, "--admin-listen"},
      {{"--hold-timeout-seconds=0"}, "--hold-timeout-seconds"},
      {{"--requests-max=0"}, "--requests-max"},
      {{"--engine-binary=/x"}, "--engine-binary"},
  };
  for (const auto& [words, message] : table) {
    const auto options = parse(words);
    ASSERT_FALSE(options.ok()) << message;
    EXPECT_NE(options.error().message.find(message), std::string::npos) << options.error().message;
  }
}

TEST(ActivatorOptions, AreAskedForByAFlag) {
  const char* with[] = {"kantha-noded", "--admin=x", "--activator"};
  const char* without[] = {"kantha-noded", "--activators"};
  EXPECT_TRUE(wants_activator(3, with));
  EXPECT_FALSE(wants_activator(2, without));
}

}  // namespace
}  // namespace kantha::noded
