#include "operator/serving/timestamp.h"

#include <array>
#include <charconv>
#include <cstdio>

namespace kantha::serving {
namespace {

using std::chrono::floor;
using std::chrono::microseconds;
using std::chrono::seconds;

/// Takes parts off the front of a text; one failure makes the whole text wrong.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  int digits(std::size_t count) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (i >= rest_.size() || rest_[i] < '0' || rest_[i] > '9') return fail();
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return value;
  }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail();
  }
  microseconds fraction() {
    std::int64_t value = 0;
    std::size_t count = 0;
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; rest_.remove_prefix(1)) {
      if (count++ < 6) value = value * 10 + (rest_.front() - '0');
    }
    if (count == 0) fail();
    for (; count < 6; ++count) value *= 10;
    return microseconds(value);
  }
  bool done() const { return !failed_ && rest_.empty(); }

 private:
  int fail() {
    failed_ = true;
    return 0;
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace

std::string timestamp_text(WallTime time) {
  const auto whole = floor<seconds>(time);
  const auto day = floor<std::chrono::days>(whole);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(whole - day);
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text.data();
}

std::optional<WallTime> timestamp_from_text(std::string_view text) {
  Scanner scan(text);
  const int year = scan.digits(4);
  scan.expect('-');
  const int month = scan.digits(2);
  scan.expect('-');
  const int day = scan.digits(2);
  scan.expect('T');
  const int hour = scan.digits(2);
  scan.expect(':');
  const int minute = scan.digits(2);
  scan.expect(':');
  const int second = scan.digits(2);
  const microseconds fraction = scan.take('.') ? scan.fraction() : microseconds(0);
  std::chrono::minutes offset(0);
  if (!scan.take('Z')) {
    const int sign = scan.take('-') ? -1 : 1;
    if (sign == 1) scan.expect('+');
    const int hours = scan.digits(2);
    scan.expect(':');
    offset = sign * std::chrono::minutes(hours * 60 + scan.digits(2));
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!scan.done() || !date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  // Nanoseconds since 1970 end in 2262.
  if (year < 1700 || year > 2260) return std::nullopt;
  return WallTime(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
         std::chrono::minutes(minute) + seconds(second) + fraction - offset;
}

}  // namespace kantha::serving
