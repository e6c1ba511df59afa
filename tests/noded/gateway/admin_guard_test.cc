#include "noded/gateway/admin_guard.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/whole_file.h"

namespace kantha::noded {
namespace {

net::Headers bearer(const std::string& token) { return {{"Authorization", "Bearer " + token}}; }

class AdminGuardTest : public testing::Test {
 protected:
  AdminGuardTest() {
    char pattern[] = "/tmp/kantha-guard-XXXXXX";
    folder_ = mkdtemp(pattern);
    path_ = folder_ + "/token";
  }
  ~AdminGuardTest() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
  std::string path_;
};

TEST_F(AdminGuardTest, WithoutAFileItIsOpen) {
  AdminGuard guard("");
  ASSERT_TRUE(guard.open().ok());
  EXPECT_TRUE(guard.admits({}));
}

TEST_F(AdminGuardTest, ARotatedTokenWorksAtOnceAndTheOldOneNoLonger) {
  ASSERT_TRUE(replace_whole_file(path_, "first").ok());
  AdminGuard guard(path_);
  ASSERT_TRUE(guard.open().ok());
  EXPECT_TRUE(guard.admits(bearer("first")));
  EXPECT_FALSE(guard.admits({}));
  ASSERT_TRUE(replace_whole_file(path_, "other").ok());
  EXPECT_FALSE(guard.admits(bearer("first")));
  EXPECT_TRUE(guard.admits(bearer("other")));
}

TEST_F(AdminGuardTest, AProjectedFileIsASymbolicLinkThatChanges) {
  namespace fs = std::filesystem;
  for (const char* name : {"1", "2"}) {
    fs::create_directory(folder_ + "/" + name);
    std::ofstream(folder_ + "/" + name + "/token") << "token" << name;
  }
  fs::create_directory_symlink("1", folder_ + "/data");
  fs::create_symlink("data/token", path_);
  AdminGuard guard(path_);
  ASSERT_TRUE(guard.open().ok());
  EXPECT_TRUE(guard.admits(bearer("token1")));
  fs::create_directory_symlink("2", folder_ + "/data.new");
  fs::rename(folder_ + "/data.new", folder_ + "/data");
  EXPECT_TRUE(guard.admits(bearer("token2")));
  EXPECT_FALSE(guard.admits(bearer("token1")));
}

TEST_F(AdminGuardTest, WhileTheFileCannotBeReadTheLastTokenStays) {
  ASSERT_TRUE(replace_whole_file(path_, "first").ok());
  AdminGuard guard(path_);
  ASSERT_TRUE(guard.open().ok());
  ASSERT_TRUE(replace_whole_file(path_, "").ok());
  EXPECT_TRUE(guard.admits(bearer("first")));
  EXPECT_FALSE(guard.admits(bearer("")));
  std::filesystem::remove(path_);
  EXPECT_TRUE(guard.admits(bearer("first")));
}

TEST_F(AdminGuardTest, AMissingFileIsNamedAtTheStart) {
  const Status opened = AdminGuard(path_).open();
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("--admin-token-file: " + path_), std::string::npos);
}

TEST(PrivateEndpoint, IsWhatNoOtherMachineReaches) {
  const struct {
    const char* endpoint;
    bool is_private;
  } cases[] = {
      {"unix:/a.sock", true}, {"127.0.0.1:1", true}, {"127.8.9.1:1", true}, {"localhost:1", true},
      {"[::1]:1", true},      {"0.0.0.0:1", false},  {"[::]:1", false},     {"10.0.0.1:1", false},
  };
  for (const auto& [endpoint, is_private] : cases) {
    EXPECT_EQ(is_private_endpoint(net::parse_endpoint(endpoint).value()), is_private) << endpoint;
  }
}

}  // namespace
}  // namespace kantha::noded
