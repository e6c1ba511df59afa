#include "base/whole_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>

namespace kantha {
namespace {

class WholeFile : public testing::Test {
 protected:
  WholeFile() {
    char pattern[] = "/tmp/kantha-file-XXXXXX";
    folder_ = mkdtemp(pattern);
  }
  ~WholeFile() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(WholeFile, IsReplacedInOneStepAndPrivate) {
  const std::string path = folder_ + "/f";
  ASSERT_TRUE(replace_whole_file(path, "one").ok());
  struct stat before = {};
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  EXPECT_EQ(before.st_mode & 0777, 0600U);
  ASSERT_TRUE(replace_whole_file(path, "two").ok());
  struct stat after = {};
  ASSERT_EQ(::stat(path.c_str(), &after), 0);
  EXPECT_NE(before.st_ino, after.st_ino) << "written in place, not renamed";
  EXPECT_EQ(read_whole_file(path, 3).value(), "two");
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST_F(WholeFile, FailuresNameThePathAndLeaveTheOldContent) {
  const Status nowhere = replace_whole_file(folder_ + "/no/f", "x");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_NE(nowhere.error().message.find("/no/f"), std::string::npos);
  std::filesystem::create_directory(folder_ + "/d");
  EXPECT_FALSE(replace_whole_file(folder_ + "/d", "x").ok());
  EXPECT_TRUE(std::filesystem::is_directory(folder_ + "/d"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/d.new"));
}

TEST_F(WholeFile, ReadingHasABound) {
  ASSERT_TRUE(replace_whole_file(folder_ + "/f", "four").ok());
  EXPECT_EQ(read_whole_file(folder_ + "/f", 3).error().code, Code::kOutOfRange);
  EXPECT_EQ(read_whole_file(folder_ + "/g", 3).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace kantha
