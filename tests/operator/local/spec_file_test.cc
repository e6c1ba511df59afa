#include "operator/local/spec_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace kantha::local {
namespace {

namespace fs = std::filesystem;

std::string text(int replicas) {
  return "apiVersion: serving.kantha.dev/v1alpha1\nkind: ModelServing\nmetadata: {name: m}\n"
         "spec: {model: {source: {hostPath: x}}, replicas: " +
         std::to_string(replicas) + "}\n";
}

TEST(SpecFile, SeesEditsOnceTheyAreSteady) {
  const fs::path dir = fs::temp_directory_path() / ("kantha-spec-" + std::to_string(getpid()));
  fs::create_directories(dir);
  const std::string path = (dir / "m.yaml").string();
  std::ofstream(path) << text(1);
  SpecFile file(path);
  ASSERT_TRUE(file.read().ok());
  EXPECT_FALSE(file.look().has_value()) << "unchanged";

  std::ofstream(path) << text(22);
  EXPECT_FALSE(file.look().has_value()) << "it may be half written";
  const auto edited = file.look();
  ASSERT_TRUE(edited.has_value());
  EXPECT_EQ(edited->serving->spec.replicas, 22);
  EXPECT_FALSE(file.look().has_value()) << "told once";

  std::ofstream(path + ".new") << text(33);
  fs::rename(path + ".new", path);
  EXPECT_FALSE(file.look().has_value());
  const auto replaced = file.look();
  ASSERT_TRUE(replaced.has_value()) << "editors replace files";
  EXPECT_EQ(replaced->serving->spec.replicas, 33);

  fs::remove(path);
  file.look();
  EXPECT_FALSE(file.look().value_or(serving::ModelServingFile{}).ok());
  EXPECT_FALSE(file.look().has_value()) << "that it is gone is told once";
  fs::remove_all(dir);
}

TEST(SpecFile, NeverOpensAPipeThatTookItsPlace) {
  const fs::path dir = fs::temp_directory_path() / ("kantha-pipe-" + std::to_string(getpid()));
  fs::create_directories(dir);
  const std::string path = (dir / "m.yaml").string();
  std::ofstream(path) << text(1);
  SpecFile file(path);
  ASSERT_TRUE(file.read().ok());

  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(file.look().has_value());
  const auto pipe = file.look();  // would wait for a writer for ever
  ASSERT_TRUE(pipe.has_value());
  EXPECT_NE(pipe->problem_text().find("is no regular file any more"), std::string::npos);
  EXPECT_FALSE(file.look().has_value()) << "told once";

  fs::remove(path);
  std::ofstream(path) << text(2);
  file.look();
  EXPECT_TRUE(file.look().value_or(serving::ModelServingFile{}).ok());
  fs::remove_all(dir);
}

TEST(SpecFile, APipeIsReadOnceAtTheStart) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const std::string yaml = text(3);
  ASSERT_EQ(write(ends[1], yaml.data(), yaml.size()), static_cast<ssize_t>(yaml.size()));
  close(ends[1]);
  SpecFile file("/dev/fd/" + std::to_string(ends[0]));
  EXPECT_TRUE(file.read().ok());
  EXPECT_FALSE(file.look().has_value());
  EXPECT_FALSE(file.look().has_value());
  close(ends[0]);
}

}  // namespace
}  // namespace kantha::local
