#include "operator/serving/rollout_window.h"

#include <algorithm>
#include <array>

namespace kantha::serving {
namespace {

constexpr int kDay = 24 * 60;
constexpr int kWeek = 7 * kDay;
constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

/// Minutes of the week, from Sunday's midnight.
struct Span {
  int start = 0;
  int minutes = 0;
};

std::vector<Span> spans_of(const std::vector<WindowSpec>& windows) {
  std::vector<Span> out;
  for (const WindowSpec& window : windows) {
    const auto start = minute_of_day(window.start);
    const auto end = minute_of_day(window.end);
    if (!start || !end) continue;
    const int minutes = *end > *start ? *end - *start : *end + kDay - *start;
    for (int day = 0; day < 7; ++day) {
      const bool named =
          window.days.empty() || std::ranges::any_of(window.days, [&](const std::string& name) {
            return day_of_week(name) == day;
          });
      if (named) out.push_back({day * kDay + *start, minutes});
    }
  }
  return out;
}

int minute_of_week(WallTime now) {
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const auto weekday = std::chrono::weekday(std::chrono::sys_days(day));
  const auto minute = std::chrono::floor<std::chrono::minutes>(now - day).count();
  return static_cast<int>(weekday.c_encoding()) * kDay + static_cast<int>(minute);
}

bool contains(const Span& span, int minute) {
  return (minute - span.start + kWeek) % kWeek < span.minutes;
}

}  // namespace

std::optional<int> minute_of_day(std::string_view text) {
  const auto digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '9'; };
  if (text.size() != 5 || text[2] != ':' || !digit(0) || !digit(1) || !digit(3) || !digit(4)) {
    return std::nullopt;
  }
  const int hour = (text[0] - '0') * 10 + text[1] - '0';
  const int minute = (text[3] - '0') * 10 + text[4] - '0';
  if (hour > 23 || minute > 59) return std::nullopt;
  return hour * 60 + minute;
}

std::optional<int> day_of_week(std::string_view text) {
  const auto found = std::ranges::find(kDays, text);
  if (found == kDays.end()) return std::nullopt;
  return static_cast<int>(found - kDays.begin());
}

bool window_is_open(const std::vector<WindowSpec>& windows, WallTime now) {
  if (windows.empty()) return true;
  const int minute = minute_of_week(now);
  return std::ranges::any_of(spans_of(windows),
                             [&](const Span& span) { return contains(span, minute); });
}

std::optional<WallTime> next_window(const std::vector<WindowSpec>& windows, WallTime now) {
  if (window_is_open(windows, now)) return std::nullopt;
  const int minute = minute_of_week(now);
  int least = kWeek + 1;
  for (const Span& span : spans_of(windows)) {
    least = std::min(least, (span.start - minute + kWeek) % kWeek);
  }
  if (least > kWeek) return std::nullopt;
  return std::chrono::floor<std::chrono::minutes>(now) + std::chrono::minutes(least);
}

}  // namespace kantha::serving
