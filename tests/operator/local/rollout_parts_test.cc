#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "operator/local/rollout_file.h"
#include "operator/local/rollout_verbs.h"

namespace kantha::local {
namespace {

namespace fs = std::filesystem;

TEST(RolloutVerbs, HoldUntilTheFileSaysOtherwise) {
  RolloutVerbs verbs;
  verbs.file_says(false);
  ASSERT_TRUE(verbs.take(Json::parse(R"({"spec":{"rollout":{"paused":true}}})")).ok());
  serving::RolloutSpec rollout;
  verbs.apply(rollout);
  EXPECT_TRUE(rollout.paused);
  verbs.file_says(false);
  rollout = {};
  verbs.apply(rollout);
  EXPECT_TRUE(rollout.paused) << "the file's own did not change";
  verbs.file_says(true);
  verbs.file_says(false);
  rollout = {};
  verbs.apply(rollout);
  EXPECT_FALSE(rollout.paused);
  ASSERT_TRUE(
      verbs.take(Json::parse(R"({"spec":{"rollout":{"abort":"r-a","promote":"r-b/c"}}})")).ok());
  verbs.apply(rollout);
  EXPECT_EQ(rollout.abort, "r-a");
  EXPECT_EQ(rollout.promote, "r-b/c");
}

TEST(RolloutVerbs, RefuseWhatBelongsIntoTheFile) {
  RolloutVerbs verbs;
  for (const char* text :
       {"[]", "{}", R"({"spec":{}})", R"({"spec":{"replicas":3}})", R"({"metadata":{}})",
        R"({"spec":{"rollout":{"paused":"yes"}}})", R"({"spec":{"rollout":{"rings":[]}}})",
        R"({"spec":{"rollout":{"abort":3}}})", R"({"spec":{"rollout":3}})"}) {
    EXPECT_FALSE(verbs.take(Json::parse(text)).ok()) << text;
  }
}

TEST(RolloutFile, KeepsTheStateBesideTheRunFolder) {
  const fs::path root = fs::temp_directory_path() / ("kr-" + std::to_string(getpid()));
  fs::create_directories(root);
  RolloutFile file(root, "m");
  EXPECT_EQ(file.read(), serving::RolloutState());
  serving::RolloutState state;
  state.phase = serving::RolloutPhase::kRolledBack;
  state.target = "r-a.b";
  ASSERT_TRUE(file.write(state).ok());
  EXPECT_EQ(RolloutFile(root, "m").read(), state);
  EXPECT_EQ(RolloutFile(root, "n").read(), serving::RolloutState());
  std::ofstream(root / ".rollouts/m.json") << "half";
  EXPECT_EQ(RolloutFile(root, "m").read(), serving::RolloutState());
  fs::remove_all(root);
}

}  // namespace
}  // namespace kantha::local
