#include "noded/gateway/key_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/digest.h"

namespace kantha::noded {
namespace {

namespace fs = std::filesystem;

std::string listing(std::string_view key) {
  return R"({"keys":[{"sha256":")" + sha256_hex(key) + R"(","tenant":"blue"}]})";
}

class KeyFileTest : public testing::Test {
 protected:
  KeyFileTest() {
    char pattern[] = "/tmp/kantha-keys-XXXXXX";
    folder_ = mkdtemp(pattern);
    path_ = folder_ / "keys.json";
  }
  ~KeyFileTest() override { fs::remove_all(folder_); }

  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::trunc) << text;
  }
  void replace(const std::string& text) {
    write(folder_ / "draft", text);
    fs::rename(folder_ / "draft", path_);
  }
  /// What the kubelet does with a Secret: a new folder, and one link that leads to it.
  void project(const std::string& version, const std::string& text) {
    fs::create_directory(folder_ / version);
    write(folder_ / version / "keys.json", text);
    fs::remove(folder_ / "..tmp");
    fs::create_symlink(version, folder_ / "..tmp");
    fs::rename(folder_ / "..tmp", folder_ / "..data");
    if (!fs::exists(fs::symlink_status(path_))) fs::create_symlink("..data/keys.json", path_);
  }

  fs::path folder_;
  fs::path path_;
};

bool has(KeyFile& file, std::string_view key) { return file.keys()->find(key) != nullptr; }

TEST_F(KeyFileTest, WithoutAPathNoKeyIsAskedFor) {
  KeyFile file("");
  EXPECT_TRUE(file.open().ok());
  EXPECT_FALSE(file.asks_for_keys());
  EXPECT_EQ(file.keys(), nullptr);
}

TEST_F(KeyFileTest, AStartWithoutAGoodFileFailsWithItsNameAndPlace) {
  KeyFile absent(path_);
  const Status gone = absent.open();
  ASSERT_FALSE(gone.ok());
  EXPECT_NE(gone.error().message.find("--api-keys-file: " + path_.string()), std::string::npos)
      << gone.error().message;
  write(path_, R"({"keys":[{"tenant":"blue"}]})");
  KeyFile wrong(path_);
  const Status bad = wrong.open();
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().message.find(path_.string() + ": keys[0].sha256: required"),
            std::string::npos)
      << bad.error().message;
  write(path_, std::string((2u << 20) + 1, ' '));
  const Status large = KeyFile(path_).open();
  ASSERT_FALSE(large.ok());
  EXPECT_NE(large.error().message.find("2097152"), std::string::npos) << large.error().message;
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_FALSE(KeyFile(path_).open().ok());
}

TEST_F(KeyFileTest, ANewFileCountsAtTheNextLook) {
  write(path_, listing("one"));
  KeyFile file(path_);
  ASSERT_TRUE(file.open().ok());
  EXPECT_TRUE(has(file, "one"));
  EXPECT_EQ(file.reloads(), 0);
  replace(listing("two!"));
  EXPECT_TRUE(has(file, "two!"));
  EXPECT_FALSE(has(file, "one"));
  EXPECT_EQ(file.reloads(), 1);
  write(path_, listing("three"));  // in place
  EXPECT_TRUE(has(file, "three"));
  EXPECT_EQ(file.reloads(), 2);
}

TEST_F(KeyFileTest, ASecretThatIsProjectedAnewCountsAtTheNextLook) {
  project("v1", listing("one"));
  KeyFile file(path_);
  ASSERT_TRUE(file.open().ok());
  EXPECT_TRUE(has(file, "one"));
  project("v2", listing("two"));
  EXPECT_TRUE(has(file, "two"));
  EXPECT_FALSE(has(file, "one"));
}

TEST_F(KeyFileTest, AWrongNewFileKeepsTheOldKeysAndSaysSoUntilItIsRight) {
  project("v1", listing("one"));
  KeyFile file(path_);
  ASSERT_TRUE(file.open().ok());
  project("v2", R"({"keys":[{}]})");
  EXPECT_TRUE(has(file, "one"));
  EXPECT_NE(file.error().find("keys[0].tenant: required"), std::string::npos) << file.error();
  EXPECT_NE(file.error().find(path_.string()), std::string::npos);
  for (int i = 0; i < 5; ++i) file.keys();
  EXPECT_EQ(file.failures(), 1) << "one wrong file is one failure, however often it is looked at";
  project("v3", listing("three"));
  EXPECT_TRUE(has(file, "three"));
  EXPECT_EQ(file.error(), "");
}

TEST_F(KeyFileTest, AFileThatGoesAwayKeepsTheKeysAndMayComeBack) {
  write(path_, listing("one"));
  KeyFile file(path_);
  ASSERT_TRUE(file.open().ok());
  fs::rename(path_, folder_ / "aside");
  EXPECT_TRUE(has(file, "one"));
  EXPECT_NE(file.error().find("No such file"), std::string::npos) << file.error();
  file.keys();
  EXPECT_EQ(file.failures(), 1);
  fs::rename(folder_ / "aside", path_);
  EXPECT_TRUE(has(file, "one"));
  EXPECT_EQ(file.error(), "");
}

TEST_F(KeyFileTest, KeysInHandOutliveTheirFile) {
  write(path_, listing("one"));
  KeyFile file(path_);
  ASSERT_TRUE(file.open().ok());
  const auto held = file.keys();
  replace(R"({"keys":[]})");
  EXPECT_EQ(file.keys()->count(), 0U);
  EXPECT_NE(held->find("one"), nullptr);
}

}  // namespace
}  // namespace kantha::noded
