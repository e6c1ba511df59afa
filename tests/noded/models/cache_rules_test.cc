#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "noded/models/content_rules.h"
#include "noded/models/retry_rules.h"
#include "noded/models/room_plan.h"
#include "tests/noded/models/file_server.h"

namespace kantha::noded {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ContentProblem, TakesWeights) {
  EXPECT_THAT(content_problem(fake_weights(64)), IsEmpty());
  EXPECT_THAT(content_problem(fake_weights(1 << 20)), IsEmpty());
}

TEST(ContentProblem, RefusesByName) {
  EXPECT_THAT(content_problem(""), HasSubstr("empty"));
  EXPECT_THAT(content_problem("version https://git-lfs.github.com/spec/v1\noid sha256:ab\n"),
              HasSubstr("Git LFS pointer"));
  EXPECT_THAT(content_problem("\n <!DOCTYPE html><html>"), HasSubstr("HTML page"));
  EXPECT_THAT(content_problem("\xef\xbb\xbf<html>"), HasSubstr("HTML page"));
  EXPECT_THAT(content_problem("<?xml version=\"1.0\"?><Error>"), HasSubstr("XML page"));
  EXPECT_THAT(content_problem(std::string(4096, '\0')), HasSubstr("1024 zero bytes"));
  EXPECT_THAT(content_problem("GGUF" + std::string(60, '\0')), HasSubstr("zero-filled"));
  EXPECT_THAT(content_problem(std::string("GGUF\x03\0\0\0", 8)), HasSubstr("truncated"));
  EXPECT_THAT(content_problem("{\"error\":\"gone\"}" + std::string(32, ' ')),
              HasSubstr("begins with 7b 22 65 72 (JSON?)"));
  EXPECT_THAT(content_problem("FUGG" + std::string(60, 'x')), HasSubstr("instead of 47 47 55 46"));
}

CacheEntry entry(char name, std::int64_t bytes, int used_at, bool in_use = false,
                 bool is_part = false) {
  return {std::string(64, name), is_part, bytes, WallTime(seconds(used_at)), in_use};
}

std::string names(const RoomPlan& plan) {
  std::string out;
  for (const CacheEntry& e : plan.evict) out += e.digest[0];
  return out.empty() ? plan.problem : out;
}

TEST(RoomPlan, TakesOutNothingWhereThereIsRoom) {
  EXPECT_EQ(names(plan_room({entry('a', 10, 1)}, {.bytes = 5, .free_bytes = 5})), "");
}

TEST(RoomPlan, TakesOutTheLeastRecentlyUsedAndNoMoreThanItTakes) {
  const std::vector<CacheEntry> entries = {entry('a', 10, 3), entry('b', 10, 1), entry('c', 10, 2)};
  EXPECT_EQ(names(plan_room(entries, {.bytes = 15, .free_bytes = 0})), "bc");
  EXPECT_EQ(names(plan_room(entries, {.bytes = 5, .free_bytes = 0})), "b");
  EXPECT_EQ(names(plan_room(entries,
                            {.bytes = 5, .quota_bytes = 20, .used_bytes = 30, .free_bytes = 99})),
            "bc");
}

TEST(RoomPlan, TakesOutAbandonedPartsFirst) {
  EXPECT_EQ(names(plan_room({entry('a', 10, 1), entry('p', 10, 9, false, true)},
                            {.bytes = 5, .free_bytes = 0})),
            "p");
}

TEST(RoomPlan, SparesFilesInUseAndSaysThatThereIsNoRoom) {
  const RoomPlan plan = plan_room({entry('a', 10 << 20, 1, true), entry('b', 10 << 20, 2)},
                                  {.bytes = 30 << 20, .free_bytes = 5 << 20, .spare_bytes = 0});
  EXPECT_THAT(plan.evict, IsEmpty());
  EXPECT_EQ(plan.problem,
            "no room for 30.0 MiB more: the disk has 5.0 MiB free, of which 0 B stay free; "
            "10.0 MiB of it could be taken out, the rest is in use");
  EXPECT_THAT(plan_room({}, {.bytes = 20, .quota_bytes = 10, .free_bytes = 99}).problem,
              HasSubstr("the quota is 10 B"));
  EXPECT_THAT(plan_room({}, {.bytes = 20, .free_bytes = 25, .spare_bytes = 10}).problem,
              HasSubstr("stay free"));
}

struct Walk {
  RetryPolicy policy = {};
  RetryState state = {};
  std::size_t mirrors = 1;
  RetryStep step(AttemptEnd end, bool progress = false, Duration asked = {}, double chance = 0) {
    RetryStep out = retry_step(state, end, progress, asked, mirrors, chance, policy);
    state = out.state;
    return out;
  }
};

TEST(RetryStep, PausesLongerAndLongerAndThenEndsTheRound) {
  Walk walk;
  std::vector<Duration> pauses;
  RetryStep last;
  while ((last = walk.step(AttemptEnd::kRetry)).move == NextMove::kPause) {
    pauses.push_back(last.wait);
  }
  EXPECT_THAT(pauses, ElementsAre(seconds(1), seconds(2), seconds(4), seconds(8), seconds(16),
                                  seconds(32), seconds(60)));
  EXPECT_EQ(last.move, NextMove::kHold);
  EXPECT_EQ(last.wait, minutes(5));
}

TEST(RetryStep, NewBytesMakeItPatientAgain) {
  Walk walk;
  for (int i = 0; i < 100; ++i) {
    const RetryStep step = walk.step(AttemptEnd::kRetry, true);
    ASSERT_EQ(step.move, NextMove::kPause);
    ASSERT_EQ(step.wait, seconds(1));
  }
}

TEST(RetryStep, ObeysTheServerAndSpreadsNodes) {
  Walk walk;
  EXPECT_EQ(walk.step(AttemptEnd::kRetry, true, seconds(9)).wait, seconds(9));
  EXPECT_EQ(walk.step(AttemptEnd::kRetry, true, {}, 0.999).wait, Duration(750'250'000));
}

TEST(RetryStep, AsksEveryMirrorBeforeItWaits) {
  Walk walk{.mirrors = 3};
  EXPECT_EQ(walk.step(AttemptEnd::kRefused).state.mirror, 1u);
  EXPECT_EQ(walk.step(AttemptEnd::kRefused).move, NextMove::kTryNow);
  const RetryStep third = walk.step(AttemptEnd::kRefused);
  EXPECT_EQ(third.move, NextMove::kHold);
  EXPECT_EQ(third.state.mirror, 0u);
  EXPECT_EQ(walk.step(AttemptEnd::kRetry).move, NextMove::kTryNow);
  EXPECT_EQ(walk.step(AttemptEnd::kRetry).move, NextMove::kTryNow);
  EXPECT_EQ(walk.step(AttemptEnd::kRetry).move, NextMove::kPause);
}

TEST(RetryStep, HoldsLongerAfterEveryRound) {
  Walk walk;
  EXPECT_EQ(walk.step(AttemptEnd::kRefused).wait, minutes(5));
  EXPECT_EQ(walk.step(AttemptEnd::kRefused).wait, minutes(10));
  EXPECT_EQ(walk.step(AttemptEnd::kNoSpace).wait, minutes(20));
  for (int i = 0; i < 9; ++i) walk.step(AttemptEnd::kRefused);
  EXPECT_EQ(walk.step(AttemptEnd::kRefused).wait, hours(1));
}

TEST(RetryStep, DoesNotRunAfterAFileThatChangesAllTheTime) {
  Walk walk;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(walk.step(AttemptEnd::kAnew).move, NextMove::kTryNow);
  EXPECT_EQ(walk.step(AttemptEnd::kAnew).move, NextMove::kPause);
}

}  // namespace
}  // namespace kantha::noded
