#include "operator/local/world_dir.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/whole_file.h"

namespace kantha::local {
namespace {

namespace fs = std::filesystem;

class WorldDirTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(root_); }
  void TearDown() override { fs::remove_all(root_); }
  const std::string root_ =
      (fs::temp_directory_path() / ("kantha-dir-" + std::to_string(getpid()))).string();
};

TEST_F(WorldDirTest, IsPrivateAndGoesWithItsOwner) {
  {
    const auto dir = WorldDir::claim(root_, "m");
    ASSERT_TRUE(dir.ok()) << dir.error().to_string();
    struct stat status{};
    ASSERT_EQ(stat(dir->path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    EXPECT_EQ(dir->path(), root_ + "/m");
  }
  EXPECT_FALSE(fs::exists(root_ + "/m"));
}

TEST_F(WorldDirTest, ANameRunsOnce) {
  std::optional<WorldDir> first(WorldDir::claim(root_, "m").value());
  const auto second = WorldDir::claim(root_, "m");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  EXPECT_NE(
      second.error().message.find("\"m\" already runs here (process " + std::to_string(getpid())),
      std::string::npos)
      << second.error().message;
  EXPECT_TRUE(WorldDir::claim(root_, "other").ok());
  first.reset();
  EXPECT_TRUE(WorldDir::claim(root_, "m").ok());
}

TEST_F(WorldDirTest, WhatAKilledRunLeftIsCleared) {
  fs::create_directories(root_ + "/m/pod-0");
  std::ofstream(root_ + "/m/pod-0/engine.json") << "{}";
  std::ofstream(root_ + "/m/lock") << "1";
  const auto dir = WorldDir::claim(root_, "m");
  ASSERT_TRUE(dir.ok());
  EXPECT_FALSE(fs::exists(root_ + "/m/pod-0"));
}

TEST_F(WorldDirTest, ALinkInItsPlaceIsRefused) {
  fs::create_directories(root_ + "/elsewhere");
  fs::create_directory_symlink(root_ + "/elsewhere", root_ + "/m");
  const auto dir = WorldDir::claim(root_, "m");
  ASSERT_FALSE(dir.ok());
  EXPECT_EQ(dir.error().code, Code::kPermissionDenied);
}

TEST_F(WorldDirTest, APathTooLongForSocketsIsRefusedAtOnce) {
  const auto dir = WorldDir::claim(root_ + "/" + std::string(90, 'x'), "m");
  ASSERT_FALSE(dir.ok());
  EXPECT_EQ(dir.error().code, Code::kOutOfRange);
  EXPECT_NE(dir.error().message.find("XDG_RUNTIME_DIR"), std::string::npos);
}

TEST_F(WorldDirTest, PodFoldersComeEmptyAndFilesWhole) {
  const auto dir = WorldDir::claim(root_, "m");
  const std::string pod = dir->make_pod_dir(3).value();
  ASSERT_TRUE(replace_whole_file(pod + "/engine.json", "{}\n").ok());
  ASSERT_TRUE(replace_whole_file(pod + "/engine.json", "{\"a\":1}\n").ok());
  std::ostringstream text;
  text << std::ifstream(pod + "/engine.json").rdbuf();
  EXPECT_EQ(text.str(), "{\"a\":1}\n");
  EXPECT_FALSE(fs::exists(pod + "/engine.json.new"));
  EXPECT_TRUE(fs::is_empty(dir->make_pod_dir(3).value()));
  dir->remove_pod_dir(3);
  EXPECT_FALSE(fs::exists(pod));
  EXPECT_FALSE(replace_whole_file(root_ + "/absent/x", "y").ok());
}

}  // namespace
}  // namespace kantha::local
