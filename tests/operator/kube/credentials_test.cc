#include "operator/kube/credentials.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/whole_file.h"
#include "tests/base/net/loopback.h"
#include "tests/base/net/test_certificates.h"

namespace kantha::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CredentialsTest : public testing::Test {
 protected:
  CredentialsTest() {
    config_.token_file = dir_.file("token");
    config_.ca_file = dir_.file("ca.crt");
    write(config_.token_file, "one");
    write(config_.ca_file, authority_.pem());
  }
  void write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(replace_whole_file(path, text).ok());
  }
  Credentials load() { return Credentials::load(config_, now_).value(); }

  net::TempDir dir_;
  net::TestAuthority authority_;
  ClusterConfig config_;
  TimePoint now_{seconds(100)};
};

TEST_F(CredentialsTest, LooksAtMostOnceASecondAndAtOnceWhenSuspect) {
  Credentials credentials = load();
  EXPECT_EQ(credentials.authorization(), "Bearer one");
  write(config_.token_file, "two\n");
  EXPECT_FALSE(credentials.refresh(now_ + milliseconds(999)));
  EXPECT_EQ(credentials.authorization(), "Bearer one");
  EXPECT_FALSE(credentials.refresh(now_ + seconds(1))) << "the TLS settings are the same";
  EXPECT_EQ(credentials.authorization(), "Bearer two");
  write(config_.token_file, "three");
  credentials.suspect();
  credentials.refresh(now_ + seconds(1));
  EXPECT_EQ(credentials.authorization(), "Bearer three");
}

TEST_F(CredentialsTest, SeesWhatAMountedSecretSwapsBehindALink) {
  // As the kubelet does it: the file is a link into a folder that is itself a link.
  const auto publish = [this](const std::string& folder, const std::string& text) {
    std::filesystem::create_directory(dir_.file(folder));
    write(dir_.file(folder) + "/token", text);
    std::filesystem::create_symlink(folder, dir_.file("..data_tmp"));
    std::filesystem::rename(dir_.file("..data_tmp"), dir_.file("..data"));
  };
  publish("..1", "one");
  std::filesystem::remove(config_.token_file);
  std::filesystem::create_symlink("..data/token", config_.token_file);
  Credentials credentials = load();
  publish("..2", "two");
  credentials.refresh(now_ + seconds(1));
  EXPECT_EQ(credentials.authorization(), "Bearer two");
}

TEST_F(CredentialsTest, KeepsWhatItHasWhileTheFilesCannotBeUsed) {
  Credentials credentials = load();
  const auto refresh = [&] { return credentials.refresh(now_ += seconds(1)); };
  std::filesystem::remove(config_.token_file);
  EXPECT_FALSE(refresh());
  write(config_.token_file, "");
  EXPECT_FALSE(refresh());
  write(config_.token_file, "with blank");
  EXPECT_FALSE(refresh());
  EXPECT_EQ(credentials.authorization(), "Bearer one");
  write(config_.token_file, "two");
  write(config_.ca_file, "garbage");
  EXPECT_FALSE(refresh());
  EXPECT_EQ(credentials.authorization(), "Bearer one") << "the files belong together";
  write(config_.ca_file, net::TestAuthority("next").pem());
  EXPECT_TRUE(refresh());
  EXPECT_EQ(credentials.authorization(), "Bearer two");
  EXPECT_FALSE(refresh());
}

TEST_F(CredentialsTest, DataWinsOverFilesOfCertificatesAndATokenFileOverAToken) {
  config_.ca_data = net::TestAuthority("inline").pem();
  config_.token = "inline";
  const Credentials credentials = load();
  EXPECT_EQ(credentials.tls().ca_pem, config_.ca_data);
  EXPECT_EQ(credentials.authorization(), "Bearer one");
  config_.token_file.clear();
  EXPECT_EQ(load().authorization(), "Bearer inline");
  config_.token.clear();
  EXPECT_EQ(load().authorization(), "");
}

}  // namespace
}  // namespace kantha::kube
