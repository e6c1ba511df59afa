#include "engine/serve/load_notice.h"

#include <gtest/gtest.h>

namespace kantha::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kMB = 1'000'000;

TEST(LoadNotice, ALoadOfLessThanASecondIsSilent) {
  const TimePoint start{};
  LoadNotice notice(start);
  EXPECT_FALSE(notice.at(start, 0, 98 * kMB));
  EXPECT_FALSE(notice.at(start + milliseconds(999), 90 * kMB, 98 * kMB));
}

TEST(LoadNotice, ThenItTellsShareAndPaceAboutOnceASecond) {
  const TimePoint start{};
  LoadNotice notice(start);
  const auto said = notice.at(start + seconds(2), 1000 * kMB, 4000 * kMB);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->percent, 25);
  EXPECT_EQ(said->mb_per_s, 500);
  EXPECT_EQ(said->seconds_left, 6);
  EXPECT_FALSE(notice.at(start + milliseconds(2500), 1200 * kMB, 4000 * kMB));
  EXPECT_TRUE(notice.at(start + seconds(3), 1500 * kMB, 4000 * kMB));
  EXPECT_FALSE(notice.at(start + seconds(8), 4000 * kMB, 4000 * kMB)) << "the engine says so";
}

TEST(LoadNotice, AnHourOfLoadingIsNotAnHourOfLines) {
  const TimePoint start{};
  LoadNotice notice(start);
  int lines = 0;
  for (int second = 0; second < 3600; ++second) {
    if (notice.at(start + seconds(second), second * kMB, 3600 * kMB)) ++lines;
  }
  EXPECT_EQ(lines, 10 + 358);
}

TEST(LoadNotice, NothingReadYetHasNoPace) {
  LoadNotice notice(TimePoint{});
  const auto said = notice.at(TimePoint{} + seconds(1), 0, kMB);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->percent, 0);
  EXPECT_EQ(said->mb_per_s, 0);
  EXPECT_EQ(said->seconds_left, 0);
}

}  // namespace
}  // namespace kantha::serve
