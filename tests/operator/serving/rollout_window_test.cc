#include "operator/serving/rollout_window.h"

#include <gtest/gtest.h>

#include "operator/serving/timestamp.h"

namespace kantha::serving {
namespace {

WallTime at(const char* text) { return timestamp_from_text(text).value(); }

TEST(RolloutWindow, IsOpenFromItsStartUpToItsEndOnItsDays) {
  const std::vector<WindowSpec> night = {{{"Mon", "Fri"}, "22:00", "04:30"}};
  const struct {
    const char* now;  // 2026-11-30 is a Monday
    bool open;
    const char* next;
  } cases[] = {
      {"2026-11-30T21:59:59Z", false, "2026-11-30T22:00:00Z"},
      {"2026-11-30T22:00:00Z", true, ""},
      {"2026-12-01T04:29:59Z", true, ""},
      {"2026-12-01T04:30:00Z", false, "2026-12-04T22:00:00Z"},
      {"2026-12-01T22:30:00Z", false, "2026-12-04T22:00:00Z"},
      {"2026-12-05T03:00:00Z", true, ""},
      {"2026-12-05T05:00:10Z", false, "2026-12-07T22:00:00Z"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(window_is_open(night, at(c.now)), c.open) << c.now;
    const auto next = next_window(night, at(c.now));
    EXPECT_EQ(next ? timestamp_text(*next) : "", c.next) << c.now;
  }
}

TEST(RolloutWindow, GoesFromSaturdayIntoSunday) {
  const std::vector<WindowSpec> windows = {{{"Sat"}, "23:00", "02:00"}};
  EXPECT_TRUE(window_is_open(windows, at("2026-12-06T01:59:00Z")));
  EXPECT_FALSE(window_is_open(windows, at("2026-12-06T23:30:00Z")));
}

TEST(RolloutWindow, WithoutWindowsOrDaysItIsAlwaysOpen) {
  const WallTime now = at("2026-11-30T12:00:00Z");
  EXPECT_TRUE(window_is_open({}, now));
  EXPECT_TRUE(window_is_open({{{}, "00:00", "00:00"}}, now)) << "a whole day, each day";
  EXPECT_FALSE(next_window({}, now).has_value());
  EXPECT_FALSE(window_is_open({{{}, "noon", "13:00"}}, now)) << "a garbled one never opens";
}

TEST(RolloutWindow, TimesAreTwoDigitsEach) {
  EXPECT_EQ(minute_of_day("23:59"), 1439);
  for (const char* wrong : {"", "24:00", "12:60", "1:00", "12.00", "12:0x", "12:000"}) {
    EXPECT_FALSE(minute_of_day(wrong).has_value()) << wrong;
  }
  EXPECT_FALSE(day_of_week("mon").has_value());
}

}  // namespace
}  // namespace kantha::serving
