#include "bench/load/report_table.h"

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

namespace kantha::bench {
namespace {

/// Three significant digits at least, without an exponent.
std::string number(double value) {
  const double size = value < 0 ? -value : value;
  return fmt::format("{:.{}f}", value, size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

std::string number(const std::optional<double>& value) {
  return value ? number(*value) : "unknown";
}

void add_row(std::string& out, const char* title, const std::optional<Distribution>& d) {
  if (!d) return;
  fmt::format_to(std::back_inserter(out), "  {:<16}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}\n", title,
                 number(d->mean), number(d->p50), number(d->p90), number(d->p95), number(d->p99),
                 number(d->max));
}

void add_counts(std::string& out, const Measures& m) {
  fmt::format_to(std::back_inserter(out), "  requests        {} ok, {} failed", m.ok, m.failed);
  if (m.cancelled > 0) fmt::format_to(std::back_inserter(out), ", {} cut off", m.cancelled);
  if (m.resent > 0) fmt::format_to(std::back_inserter(out), ", {} resent", m.resent);
  if (m.dropped > 0) fmt::format_to(std::back_inserter(out), ", {} NOT SENT", m.dropped);
  fmt::format_to(std::back_inserter(out), ", in {} s\n", number(m.window_s));
  for (const auto& [kind, count] : m.failures) {
    fmt::format_to(std::back_inserter(out), "    {:<13} {} x, first: {}\n", kind, count,
                   m.first_errors.at(kind));
  }
}

void add_rates(std::string& out, const Measures& m) {
  const auto line = std::back_inserter(out);
  fmt::format_to(line, "  throughput      {} output tok/s, {} total tok/s, {} requests/s\n",
                 number(m.output_tokens_per_s), number(m.total_tokens_per_s),
                 number(m.requests_per_s));
  if (m.goodput_share) {
    fmt::format_to(line, "  goodput         {} requests/s, {:.1f} % of the requests kept the SLO\n",
                   number(m.goodput_per_s.value_or(0)), *m.goodput_share * 100);
  }
  const LittleCheck& little = m.little;
  fmt::format_to(line,
                 "  in flight       mean {}, peak {}; Little's law: λW = {} ({:.1f} % apart)\n",
                 number(little.in_flight_mean), m.in_flight_peak,
                 number(little.arrivals_per_s * little.latency_mean_s), little.deviation * 100);
  fmt::format_to(line, "  client          {:.1f} % of a core", m.client_cpu_share * 100);
  if (m.lag_p99_ms) fmt::format_to(line, ", timer late by {} ms (p99)", number(*m.lag_p99_ms));
  out += '\n';
}

void add_server(std::string& out, const TargetReport& target) {
  if (target.all.cached_share) {
    fmt::format_to(std::back_inserter(out), "  cached prompts  {:.1f} % of the tokens, by usage\n",
                   *target.all.cached_share * 100);
  }
  const ServerFigures& server = target.server;
  if (!server.any()) return;
  const auto line = std::back_inserter(out);
  out += "  server says     ";
  std::string gap;
  const auto add = [&](const char* format, const std::optional<double>& value, double scale) {
    if (!value) return;
    fmt::format_to(line, "{}", gap);
    fmt::format_to(line, fmt::runtime(format), *value * scale);
    gap = ", ";
  };
  add("{:.0f} prompt tokens", server.prompt_tokens, 1);
  add("{:.0f} output tokens", server.output_tokens, 1);
  add("prefix hits {:.1f} %", server.prefix_hit_ratio, 100);
  add("{:.0f} preemptions", server.preemptions, 1);
  add("queued {:.1f} ms (mean)", server.queue_mean_s, 1e3);
  add("{:.0f} waiting (peak)", server.waiting_peak, 1);
  add("KV {:.1f} % used (peak)", server.kv_usage_peak, 100);
  out += '\n';
}

void add_target(std::string& out, const TargetReport& target) {
  const auto line = std::back_inserter(out);
  const bool is_named = target.target.name != target.target.url;
  fmt::format_to(line, "\n{}{}", target.target.name, is_named ? " at " + target.target.url : "");
  if (!target.dead.empty()) {
    fmt::format_to(line, "\n  NOT MEASURED: {}\n", target.dead);
    return;
  }
  fmt::format_to(line, ", model {}\n", target.facts.model);
  const Measures& m = target.all;
  add_counts(out, m);
  if (m.ok > 0) {
    fmt::format_to(line, "  {:<16}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}\n", "", "mean", "p50", "p90",
                   "p95", "p99", "max");
    add_row(out, "TTFT ms", m.ttft_ms);
    add_row(out, "ITL ms", m.itl_ms);
    add_row(out, "TPOT ms", m.tpot_ms);
    add_row(out, "E2E ms", m.e2e_ms);
    add_row(out, "sent late ms", m.late_ms);
    add_row(out, "tokens in", m.input_tokens);
    add_row(out, "tokens out", m.output_tokens);
    add_rates(out, m);
    add_server(out, target);
  }
  for (const std::string& why : m.invalid) fmt::format_to(line, "  INVALID: {}\n", why);
  for (const std::string& text : m.warnings) fmt::format_to(line, "  note: {}\n", text);
  for (const std::string& text : target.warnings) fmt::format_to(line, "  note: {}\n", text);
}

void add_comparison(std::string& out, const BenchReport& report, const Comparison& comparison) {
  const auto line = std::back_inserter(out);
  fmt::format_to(line,
                 "\n{} against {} (medians of rounds; ratio with the rounds' lowest and highest)\n",
                 comparison.name, report.targets.front().target.name);
  for (const Ratio& r : comparison.ratios) {
    fmt::format_to(line, "  {:<22}{:>11} : {:>11}   x {} ({} .. {}, {} rounds)\n",
                   figure_title(r.figure), number(r.other), number(r.first), number(r.ratio),
                   number(r.lowest), number(r.highest), r.rounds);
  }
  if (comparison.ratios.empty()) out += "  nothing to compare\n";
}

}  // namespace

std::string figure_title(const std::string& figure) {
  static const std::map<std::string, std::string> titles = {
      {"output_tokens_per_s", "output tok/s"}, {"total_tokens_per_s", "total tok/s"},
      {"requests_per_s", "requests/s"},        {"goodput_per_s", "goodput (requests/s)"},
      {"ttft_ms_p50", "TTFT p50 (ms)"},        {"ttft_ms_p95", "TTFT p95 (ms)"},
      {"itl_ms_p50", "ITL p50 (ms)"},          {"itl_ms_p95", "ITL p95 (ms)"},
      {"tpot_ms_p50", "TPOT p50 (ms)"},        {"e2e_ms_p50", "E2E p50 (ms)"}};
  const auto found = titles.find(figure);
  return found == titles.end() ? figure : found->second;
}

std::string table_of(const BenchReport& report) {
  std::string out = "kantha bench: " + describe(report.options) + "\n";
  for (const TargetReport& target : report.targets) add_target(out, target);
  for (const Comparison& comparison : report.comparisons) add_comparison(out, report, comparison);
  return out;
}

}  // namespace kantha::bench
