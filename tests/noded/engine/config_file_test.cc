#include "noded/engine/config_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/digest.h"
#include "base/whole_file.h"

namespace kantha::noded {
namespace {

namespace fs = std::filesystem;

TEST(ConfigText, IsAJsonObjectWithinABound) {
  EXPECT_TRUE(check_config_text(R"({"model":{}})").ok());
  const struct {
    std::string text;
    Code code;
    const char* says;
  } cases[] = {
      {"", Code::kInvalidArgument, "engine configuration"},
      {"[1]", Code::kInvalidArgument, "a JSON object"},
      {R"("text")", Code::kInvalidArgument, "a JSON object"},
      {R"({"a":1,"a":2})", Code::kInvalidArgument, "engine configuration"},
      {R"({"a":1} x)", Code::kInvalidArgument, "engine configuration"},
      {R"({"a":")" + std::string(1u << 20, 'x') + R"("})", Code::kOutOfRange, "1 MiB"},
  };
  for (const auto& [text, code, says] : cases) {
    const Status status = check_config_text(text);
    ASSERT_FALSE(status.ok()) << text.substr(0, 20);
    EXPECT_EQ(status.error().code, code) << text.substr(0, 20);
    EXPECT_NE(status.error().message.find(says), std::string::npos) << status.error().message;
  }
}

class AdoptConfig : public testing::Test {
 protected:
  AdoptConfig() {
    char pattern[] = "/tmp/kantha-cfg-XXXXXX";
    folder_ = mkdtemp(pattern);
  }
  ~AdoptConfig() override { fs::remove_all(folder_); }

  /// Writes a file of so many seconds ago.
  void put(const std::string& name, const std::string& text, int age_s) {
    std::ofstream(folder_ + "/" + name) << text;
    fs::last_write_time(folder_ + "/" + name,
                        fs::file_time_type(std::chrono::seconds(1'000'000 - age_s)));
  }
  std::string source() const { return folder_ + "/source"; }
  std::string target() const { return folder_ + "/target"; }

  std::string folder_;
};

TEST_F(AdoptConfig, TheYoungerOfTwoTextsStands) {
  const struct {
    const char* what;
    std::optional<int> target_age_s;
    int source_age_s;
    const char* stands;
  } cases[] = {
      {"nothing at the target", std::nullopt, 10, R"({"from":"source"})"},
      {"an older target", 20, 10, R"({"from":"source"})"},
      {"a target of the same moment", 10, 10, R"({"from":"source"})"},
      {"a target that was pushed later", 5, 10, R"({"from":"push"})"},
  };
  for (const auto& [what, target_age_s, source_age_s, stands] : cases) {
    fs::remove(target());
    put("source", R"({"from":"source"})", source_age_s);
    if (target_age_s) put("target", R"({"from":"push"})", *target_age_s);
    const auto hash = adopt_config(source(), target());
    ASSERT_TRUE(hash.ok()) << what << hash.error().message;
    EXPECT_EQ(*hash, sha256_hex(stands)) << what;
    EXPECT_EQ(read_whole_file(target(), 100).value(), stands) << what;
  }
}

TEST_F(AdoptConfig, EqualTextsAreNotWrittenAgain) {
  put("source", "{}", 1);
  put("target", "{}", 50);
  const auto before = fs::last_write_time(target());
  ASSERT_TRUE(adopt_config(source(), target()).ok());
  EXPECT_EQ(fs::last_write_time(target()), before) << "the engine would be restarted for nothing";
}

TEST_F(AdoptConfig, WithoutAUsableSourceTheTargetStands) {
  put("target", "{}", 50);
  EXPECT_EQ(adopt_config(source(), target()).value(), sha256_hex("{}"));
  put("source", "no json", 1);
  EXPECT_EQ(adopt_config(source(), target()).value(), sha256_hex("{}"));
  fs::remove(target());
  const auto neither = adopt_config(source(), target());
  ASSERT_FALSE(neither.ok());
  EXPECT_NE(neither.error().message.find(source()), std::string::npos) << neither.error().message;
  EXPECT_FALSE(fs::exists(target()));
}

TEST_F(AdoptConfig, ADamagedTargetIsReplaced) {
  put("source", "{}", 50);
  put("target", "{", 1);
  ASSERT_TRUE(adopt_config(source(), target()).ok());
  EXPECT_EQ(read_whole_file(target(), 100).value(), "{}");
}

}  // namespace
}  // namespace kantha::noded
