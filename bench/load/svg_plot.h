#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Plots as inline SVG without any script; colours come from the page's CSS (`--series-0` and so
/// on, `--ink`, `--line`). Pure. Any thread.
namespace kantha::bench {

/// Text for HTML and SVG: & < > " ' become entities, control characters blanks, and bytes that are
/// no UTF-8 U+FFFD.
std::string escape_html(std::string_view text);

enum class Axis : unsigned char { kLinear, kLog };

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< rising x; on a log axis x > 0
};

/// Lines through the points; y begins at 0. Without any point: a line of text that says so.
struct LinePlot {
  std::string title = {};
  std::string x_title = {};
  std::string y_title = {};
  Axis x_axis = Axis::kLinear;
  double y_max = 0;  ///< 0: from the points
  std::vector<Series> series = {};
};
std::string svg_of(const LinePlot& plot);

/// One bar from 1 to `ratio` on a log axis, with a whisker from `lowest` to `highest`; all > 0.
struct RatioBar {
  std::string title;
  double ratio = 1;
  double lowest = 1;
  double highest = 1;
};
std::string svg_of(const std::string& title, const std::vector<RatioBar>& bars);

/// Positions of ticks in [min, max], about `count` of them: 1, 2 or 5 times a power of ten.
std::vector<double> linear_ticks(double min, double max, int count);
/// 1, 2 and 5 times powers of ten, or powers alone where that would be many.
std::vector<double> log_ticks(double min, double max);

}  // namespace kantha::bench
