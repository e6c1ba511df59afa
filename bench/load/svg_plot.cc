#include "bench/load/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace kantha::bench {
namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 300;
constexpr double kLeft = 58;
constexpr double kRight = 14;
constexpr double kTop = 12;
constexpr double kBottom = 44;
constexpr int kColours = 6;
constexpr const char* kDashes[kColours] = {"none", "7 3", "2 3", "9 3 2 3", "4 2", "1 2"};

/// Length of the UTF-8 sequence at the beginning of the text; 0 when there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool is_overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool is_outside = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
  return is_overlong || is_outside ? 0 : length;
}

std::string_view entity(char sign) {
  switch (sign) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return {};
  }
}

/// "0.05", "20", "1.5k": short enough for an axis.
std::string tick_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e6) return fmt::format("{:.3g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.3g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

/// From values to places on one axis.
struct Scale {
  double min = 0;
  double max = 1;
  double from = 0;
  double to = 1;
  Axis axis = Axis::kLinear;

  double at(double value) const {
    const bool is_log = axis == Axis::kLog;
    const double low = is_log ? std::log(min) : min;
    const double high = is_log ? std::log(max) : max;
    const double here = is_log ? std::log(std::max(value, min)) : value;
    return from + (to - from) * std::clamp((here - low) / (high - low), 0.0, 1.0);
  }
};

std::string open_svg(const std::string& title, double height) {
  return fmt::format(
      "<svg class=\"plot\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", kWidth,
      height, escape_html(title));
}

void add_text(std::string& out, double x, double y, const char* anchor, const std::string& text) {
  fmt::format_to(std::back_inserter(out),
                 "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                 escape_html(text));
}

void add_grid_line(std::string& out, double x1, double y1, double x2, double y2) {
  fmt::format_to(std::back_inserter(out),
                 "<line class=\"grid\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                 x1, y1, x2, y2);
}

void add_axes(std::string& out, const LinePlot& plot, const Scale& x, const Scale& y) {
  for (const double tick : linear_ticks(y.min, y.max, 5)) {
    add_grid_line(out, kLeft, y.at(tick), kWidth - kRight, y.at(tick));
    add_text(out, kLeft - 6, y.at(tick) + 4, "end", tick_text(tick));
  }
  const std::vector<double> ticks =
      x.axis == Axis::kLog ? log_ticks(x.min, x.max) : linear_ticks(x.min, x.max, 8);
  for (const double tick : ticks) {
    add_grid_line(out, x.at(tick), kTop, x.at(tick), kHeight - kBottom);
    add_text(out, x.at(tick), kHeight - kBottom + 16, "middle", tick_text(tick));
  }
  add_text(out, (kLeft + kWidth - kRight) / 2, kHeight - 8, "middle", plot.x_title);
  fmt::format_to(std::back_inserter(out),
                 "<text transform=\"translate(13 {:.1f}) rotate(-90)\" "
                 "text-anchor=\"middle\">{}</text>\n",
                 (kTop + kHeight - kBottom) / 2, escape_html(plot.y_title));
}

void add_line(std::string& out, const Series& series, std::size_t index, const Scale& x,
              const Scale& y) {
  const std::size_t colour = index % kColours;
  fmt::format_to(std::back_inserter(out),
                 "<polyline class=\"s{}\" stroke-dasharray=\"{}\" points=\"", colour,
                 kDashes[colour]);
  for (const auto& [px, py] : series.points) {
    fmt::format_to(std::back_inserter(out), "{:.1f},{:.1f} ", x.at(px), y.at(py));
  }
  fmt::format_to(std::back_inserter(out), "\"><title>{}</title></polyline>\n",
                 escape_html(series.name));
}

/// The smallest and the largest x, and the largest y.
struct Extent {
  double x_min = 0;
  double x_max = 0;
  double y_max = 0;
  bool is_empty = true;
};

Extent extent_of(const LinePlot& plot) {
  Extent extent;
  for (const Series& series : plot.series) {
    for (const auto& [x, y] : series.points) {
      extent.x_min = extent.is_empty ? x : std::min(extent.x_min, x);
      extent.x_max = extent.is_empty ? x : std::max(extent.x_max, x);
      extent.y_max = std::max(extent.y_max, y);
      extent.is_empty = false;
    }
  }
  return extent;
}

Scale x_scale(const LinePlot& plot, const Extent& extent) {
  Scale x{.from = kLeft, .to = kWidth - kRight, .axis = plot.x_axis};
  if (plot.x_axis == Axis::kLog) {
    x.min = std::max(extent.x_min, 1e-6) * 0.95;
    x.max = std::max(extent.x_max * 1.05, x.min * 1.5);
  } else {
    x.min = std::min(0.0, extent.x_min);
    x.max = std::max(extent.x_max, x.min + 1e-9);
  }
  return x;
}

void add_bar(std::string& out, const RatioBar& bar, double y, const Scale& x) {
  const double one = x.at(1);
  const double end = x.at(bar.ratio);
  add_text(out, kLeft + 112, y + 14, "end", bar.title);
  fmt::format_to(
      std::back_inserter(out),
      "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"16\"/>\n"
      "<line class=\"whisker\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
      std::min(one, end), y + 2, std::abs(end - one), x.at(bar.lowest), y + 10, x.at(bar.highest),
      y + 10);
  add_text(out, kWidth - kRight, y + 14, "end", fmt::format("× {:.3g}", bar.ratio));
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += ' ';
    } else if (const std::string_view name = entity(text[i]); !name.empty()) {
      out += name;
    } else {
      out += text.substr(i, length);
    }
    i += std::max<std::size_t>(1, length);
  }
  return out;
}

std::vector<double> linear_ticks(double min, double max, int count) {
  std::vector<double> ticks;
  if (!(max > min) || count < 1) return ticks;
  const double raw = (max - min) / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  const double lead = raw / power;
  const double step = power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
  for (double i = std::ceil(min / step - 1e-9); i * step <= max + step * 1e-9; ++i) {
    ticks.push_back(i * step + 0.0);  // no -0
  }
  return ticks;
}

std::vector<double> log_ticks(double min, double max) {
  std::vector<double> ticks;
  if (!(min > 0) || !(max > min)) return ticks;
  const bool is_wide = max / min > 3000;
  for (int power = static_cast<int>(std::floor(std::log10(min))); std::pow(10, power) <= max;
       ++power) {
    for (const double lead : {1.0, 2.0, 5.0}) {
      if (is_wide && lead > 1) continue;
      const double tick = lead * std::pow(10, power);
      if (tick >= min && tick <= max) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::string svg_of(const LinePlot& plot) {
  const Extent extent = extent_of(plot);
  if (extent.is_empty) return "<p class=\"muted\">Nothing to draw.</p>\n";
  const Scale x = x_scale(plot, extent);
  const double top = plot.y_max > 0 ? plot.y_max : std::max(extent.y_max * 1.08, 1e-9);
  const Scale y{.min = 0, .max = top, .from = kHeight - kBottom, .to = kTop};
  std::string out = open_svg(plot.title, kHeight);
  add_axes(out, plot, x, y);
  for (std::size_t i = 0; i < plot.series.size(); ++i) add_line(out, plot.series[i], i, x, y);
  return out + "</svg>\n";
}

std::string svg_of(const std::string& title, const std::vector<RatioBar>& bars) {
  if (bars.empty()) return "<p class=\"muted\">Nothing to compare.</p>\n";
  double low = 0.8;
  double high = 1.25;
  for (const RatioBar& bar : bars) {
    low = std::min({low, bar.ratio, bar.lowest});
    high = std::max({high, bar.ratio, bar.highest});
  }
  const double height = 30 + 26 * static_cast<double>(bars.size());
  const Scale x{std::max(low, 1e-6) * 0.95, high * 1.05, kLeft + 124, kWidth - kRight - 64,
                Axis::kLog};
  std::string out = open_svg(title, height);
  for (const double tick : log_ticks(x.min, x.max)) {
    add_grid_line(out, x.at(tick), 4, x.at(tick), height - 24);
    add_text(out, x.at(tick), height - 8, "middle", tick_text(tick));
  }
  for (std::size_t i = 0; i < bars.size(); ++i) {
    add_bar(out, bars[i], 4 + 26 * static_cast<double>(i), x);
  }
  return out + "</svg>\n";
}

}  // namespace kantha::bench
