#include "bench/load/report_html.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "bench/load/report_table.h"
#include "bench/load/svg_plot.h"
#include "bench/load/timeline.h"

namespace kantha::bench {
namespace {

constexpr std::size_t kCurvePoints = 300;
constexpr std::size_t kTimelineParts = 80;
constexpr double kGapFloorMs = 0.01;

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>kantha bench</title>
<style>
:root { --paper: #fbfaf7; --card: #ffffff; --ink: #1d2329; --muted: #5d6873; --line: #e2e0da;
  --bad: #a32020; --good: #1f6f43; --series-0: #2563a8; --series-1: #c8561b; --series-2: #2a8a5b;
  --series-3: #8a4fb0; --series-4: #a0324b; --series-5: #5b6b7a; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14181c; --card: #1b2126; --ink: #e6e9ec; --muted: #98a4af; --line: #2f373e;
    --bad: #f08a8a; --good: #7fd0a3; --series-0: #6fa8e8; --series-1: #f0935a; --series-2: #5fc795;
    --series-3: #c08fe0; --series-4: #e57f96; --series-5: #a9b6c3; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1080px; padding: 20px 16px 48px; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 22px; margin: 0 0 2px; }
h2 { font-size: 18px; margin: 32px 0 8px; overflow-wrap: anywhere; }
h3 { font-size: 14px; margin: 0 0 6px; font-weight: 600; }
p { margin: 4px 0; }
.muted { color: var(--muted); overflow-wrap: anywhere; }
.bad { color: var(--bad); font-weight: 600; overflow-wrap: anywhere; }
.good { color: var(--good); font-weight: 600; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: 12px 14px; min-width: 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 10px;
  margin: 10px 0; }
.tile b { display: block; font-size: 22px; font-variant-numeric: tabular-nums; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr));
  gap: 12px; margin: 12px 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 4px 8px; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
th { color: var(--muted); font-weight: 500; }
ul { margin: 6px 0; padding-left: 20px; overflow-wrap: anywhere; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; margin-top: 4px; overflow-wrap: anywhere; }
.key { display: inline-block; width: 22px; height: 3px; vertical-align: middle; margin-right: 6px; }
.plot { width: 100%; height: auto; display: block; }
.plot text { fill: var(--muted); font-size: 12px; }
.wide { max-width: 820px; }
@media (max-width: 620px) { .plot text { font-size: 16px; } }
.plot .grid { stroke: var(--line); stroke-width: 1; }
.plot polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
.plot .bar { fill: var(--series-0); opacity: .55; }
.plot .whisker { stroke: var(--ink); stroke-width: 2; }
)";

std::string number(double value) {
  const double size = value < 0 ? -value : value;
  return fmt::format("{:.{}f}", value, size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

std::string series_styles() {
  std::string out;
  for (int i = 0; i < 6; ++i) {
    fmt::format_to(std::back_inserter(out),
                   ".plot .s{0} {{ stroke: var(--series-{0}); }} .k{0} {{ background: "
                   "var(--series-{0}); }}\n",
                   i);
  }
  return out;
}

void add_heading(std::string& out, const BenchReport& report) {
  const auto line = std::back_inserter(out);
  fmt::format_to(line, "<h1>kantha bench</h1>\n<p class=\"muted\">{}</p>\n",
                 escape_html(describe(report.options)));
  fmt::format_to(line, "<p class=\"muted\">{}, kantha {}</p>\n", escape_html(report.started_at),
                 escape_html(report.version));
  if (!report.any_success()) {
    out += "<p class=\"bad\">Nothing succeeded: there are no figures.</p>\n";
  } else if (!report.is_valid()) {
    out += "<p class=\"bad\">Not valid: read why below before using a figure.</p>\n";
  } else {
    out += "<p class=\"good\">Valid: Little's law holds, every request was sent.</p>\n";
  }
  if (report.was_interrupted) out += "<p class=\"bad\">Interrupted before its end.</p>\n";
}

void add_tile(std::string& out, const char* title, const std::optional<double>& value) {
  fmt::format_to(std::back_inserter(out), "<div class=\"card tile\"><b>{}</b>{}</div>\n",
                 value ? number(*value) : "unknown", title);
}

std::optional<double> middle(const std::optional<Distribution>& d) {
  return d ? std::optional(d->p50) : std::nullopt;
}

void add_tiles(std::string& out, const Measures& m) {
  out += "<div class=\"tiles\">\n";
  add_tile(out, "output tok/s", m.output_tokens_per_s);
  add_tile(out, "requests/s", m.requests_per_s);
  if (m.ttft_ms) add_tile(out, "TTFT p50, ms", middle(m.ttft_ms));
  if (m.itl_ms) add_tile(out, "ITL p50, ms", middle(m.itl_ms));
  add_tile(out, "E2E p50, ms", middle(m.e2e_ms));
  if (m.goodput_share) add_tile(out, "% kept the SLO", *m.goodput_share * 100);
  out += "</div>\n";
}

void add_row(std::string& out, const char* title, const std::optional<Distribution>& d) {
  if (!d) return;
  fmt::format_to(std::back_inserter(out), "<tr><td>{}</td>", title);
  for (const double value : {d->mean, d->p50, d->p90, d->p95, d->p99, d->max}) {
    fmt::format_to(std::back_inserter(out), "<td>{}</td>", number(value));
  }
  out += "</tr>\n";
}

void add_table(std::string& out, const Measures& m) {
  out +=
      "<div class=\"card scroll\"><table>\n<tr><th></th><th>mean</th><th>p50</th><th>p90</th>"
      "<th>p95</th><th>p99</th><th>max</th></tr>\n";
  add_row(out, "TTFT, ms", m.ttft_ms);
  add_row(out, "ITL, ms", m.itl_ms);
  add_row(out, "TPOT, ms", m.tpot_ms);
  add_row(out, "E2E, ms", m.e2e_ms);
  add_row(out, "sent late, ms", m.late_ms);
  add_row(out, "tokens in", m.input_tokens);
  add_row(out, "tokens out", m.output_tokens);
  out += "</table></div>\n";
}

void add_facts(std::string& out, const Measures& m, const ServerFigures& server) {
  const auto line = std::back_inserter(out);
  const LittleCheck& little = m.little;
  fmt::format_to(
      line,
      "<p class=\"muted\">{} ok, {} failed, {} cut off, {} resent, {} not sent, in {} s. Mean in "
      "flight {}, peak {}; by Little's law {} ({:.1f} % apart). The client used {:.1f} % "
      "of a core.</p>\n",
      m.ok, m.failed, m.cancelled, m.resent, m.dropped, number(m.window_s),
      number(little.in_flight_mean), m.in_flight_peak,
      number(little.arrivals_per_s * little.latency_mean_s), little.deviation * 100,
      m.client_cpu_share * 100);
  std::string says;
  const auto add = [&says](const char* title, const std::optional<double>& value, double scale) {
    if (!value) return;
    says += fmt::format("{}{} {}", says.empty() ? "" : ", ", title, number(*value * scale));
  };
  add("prefix hits in %", server.prefix_hit_ratio, 100);
  add("preemptions", server.preemptions, 1);
  add("queued in ms (mean)", server.queue_mean_s, 1e3);
  add("waiting (peak)", server.waiting_peak, 1);
  add("KV used in % (peak)", server.kv_usage_peak, 100);
  if (!says.empty()) fmt::format_to(line, "<p class=\"muted\">The server says: {}.</p>\n", says);
}

void add_list(std::string& out, const char* style, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  fmt::format_to(std::back_inserter(out), "<ul class=\"{}\">\n", style);
  for (const std::string& text : lines) out += "<li>" + escape_html(text) + "</li>\n";
  out += "</ul>\n";
}

void add_target(std::string& out, const TargetReport& target) {
  const bool is_named = target.target.name != target.target.url;
  fmt::format_to(std::back_inserter(out), "<h2>{}</h2>\n<p class=\"muted\">{}{}</p>\n",
                 escape_html(target.target.name),
                 is_named ? escape_html(target.target.url) + ", " : "",
                 target.dead.empty() ? "model " + escape_html(target.facts.model) : "no answer");
  if (!target.dead.empty()) {
    out += "<p class=\"bad\">Not measured: " + escape_html(target.dead) + "</p>\n";
    return;
  }
  add_list(out, "bad", target.all.invalid);
  std::vector<std::string> failures;
  for (const auto& [kind, count] : target.all.failures) {
    failures.push_back(
        fmt::format("{} × {}, first: {}", count, kind, target.all.first_errors.at(kind)));
  }
  add_list(out, "bad", failures);
  if (target.all.ok > 0) {
    add_tiles(out, target.all);
    add_table(out, target.all);
    add_facts(out, target.all, target.server);
  }
  add_list(out, "muted", target.all.warnings);
  add_list(out, "muted", target.warnings);
}

/// One curve per target that was measured.
std::vector<Series> curves(const BenchReport& report, Curve (*curve)(const TargetReport&)) {
  std::vector<Series> out;
  for (const TargetReport& target : report.targets) {
    out.push_back({target.target.name, curve(target)});
  }
  return out;
}

std::vector<double> all_ttft(const TargetReport& target) {
  std::vector<double> values;
  for (const Phase& phase : target.phases) {
    for (const RequestLog& request : phase.requests) {
      const auto value = ttft_ms(request);
      if (request.ok() && value) values.push_back(*value);
    }
  }
  return values;
}

std::vector<double> all_itl(const TargetReport& target) {
  std::vector<double> values;
  for (const Phase& phase : target.phases) {
    for (const RequestLog& request : phase.requests) {
      if (!request.ok()) continue;
      const std::vector<double> gaps = itl_ms(request);
      values.insert(values.end(), gaps.begin(), gaps.end());
    }
  }
  return values;
}

void add_plot(std::string& out, const LinePlot& plot) {
  out += "<div class=\"card\"><h3>" + escape_html(plot.title) + "</h3>\n" + svg_of(plot);
  out += "<div class=\"legend\">";
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "<span><i class=\"key k{}\"></i>{}</span>", i % 6,
                   escape_html(plot.series[i].name));
  }
  out += "</div></div>\n";
}

void add_plots(std::string& out, const BenchReport& report) {
  out += "<h2>Plots</h2>\n<div class=\"plots\">\n";
  const auto ttft = [](const TargetReport& t) {
    return cumulative_share(all_ttft(t), kCurvePoints, kGapFloorMs);
  };
  const auto itl = [](const TargetReport& t) {
    return cumulative_share(all_itl(t), kCurvePoints, kGapFloorMs);
  };
  const auto tokens = [](const TargetReport& t) {
    return throughput_over_time(t.phases, kTimelineParts);
  };
  const auto running = [](const TargetReport& t) {
    return in_flight_over_time(t.phases, kTimelineParts);
  };
  if (report.options.is_stream) {
    add_plot(out, {"Time to first token", "ms", "share of the requests", Axis::kLog, 1,
                   curves(report, ttft)});
    add_plot(out, {"Gaps between chunks", "ms", "share of the gaps", Axis::kLog, 1,
                   curves(report, itl)});
  }
  add_plot(out, {"Throughput over time", "s", "output tokens/s", Axis::kLinear, 0,
                 curves(report, tokens)});
  add_plot(out, {"Requests in flight", "s", "requests", Axis::kLinear, 0, curves(report, running)});
  out += "</div>\n";
}

void add_comparison(std::string& out, const BenchReport& report, const Comparison& comparison) {
  const std::string title = comparison.name + " against " + report.targets.front().target.name;
  fmt::format_to(
      std::back_inserter(out),
      "<h2>{}</h2>\n<p class=\"muted\">Ratios of the rounds' medians; the whisker is the "
      "rounds' lowest and highest ratio. Left of 1 is less: good for latencies, bad for "
      "rates.</p>\n<div class=\"card wide\">\n",
      escape_html(title));
  std::vector<RatioBar> bars;
  for (const Ratio& r : comparison.ratios) {
    if (r.ratio <= 0 || r.lowest <= 0) continue;
    bars.push_back({figure_title(r.figure), r.ratio, r.lowest, r.highest});
  }
  out += svg_of(title, bars);
  out +=
      "</div>\n<div class=\"card scroll\"><table>\n<tr><th></th><th>this</th><th>first</th>"
      "<th>ratio</th><th>lowest</th><th>highest</th></tr>\n";
  for (const Ratio& r : comparison.ratios) {
    fmt::format_to(std::back_inserter(out),
                   "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                   figure_title(r.figure), number(r.other), number(r.first), number(r.ratio),
                   number(r.lowest), number(r.highest));
  }
  out += "</table></div>\n";
}

}  // namespace

std::string html_of(const BenchReport& report) {
  std::string out = kHead;
  out += series_styles() + "</style>\n</head>\n<body>\n";
  add_heading(out, report);
  for (const Comparison& comparison : report.comparisons) add_comparison(out, report, comparison);
  if (report.any_success()) add_plots(out, report);
  for (const TargetReport& target : report.targets) add_target(out, target);
  return out + "</body>\n</html>\n";
}

}  // namespace kantha::bench
