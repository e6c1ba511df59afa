#include "bench/load/report.h"

#include <algorithm>

namespace kantha::bench {
namespace {

struct Figure {
  const char* name;
  std::optional<double> (*of)(const Measures&);
};

std::optional<double> middle(const std::optional<Distribution>& distribution) {
  return distribution ? std::optional(distribution->p50) : std::nullopt;
}
std::optional<double> tail(const std::optional<Distribution>& distribution) {
  return distribution ? std::optional(distribution->p95) : std::nullopt;
}

constexpr Figure kFigures[] = {
    {"output_tokens_per_s", [](const Measures& m) { return m.output_tokens_per_s; }},
    {"total_tokens_per_s", [](const Measures& m) { return m.total_tokens_per_s; }},
    {"requests_per_s", [](const Measures& m) { return m.requests_per_s; }},
    {"goodput_per_s", [](const Measures& m) { return m.goodput_per_s; }},
    {"ttft_ms_p50", [](const Measures& m) { return middle(m.ttft_ms); }},
    {"ttft_ms_p95", [](const Measures& m) { return tail(m.ttft_ms); }},
    {"itl_ms_p50", [](const Measures& m) { return middle(m.itl_ms); }},
    {"itl_ms_p95", [](const Measures& m) { return tail(m.itl_ms); }},
    {"tpot_ms_p50", [](const Measures& m) { return middle(m.tpot_ms); }},
    {"e2e_ms_p50", [](const Measures& m) { return middle(m.e2e_ms); }},
};

std::optional<Ratio> ratio_of(const Figure& figure, const TargetReport& first,
                              const TargetReport& other) {
  std::vector<double> firsts;
  std::vector<double> others;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(first.rounds.size(), other.rounds.size()); ++i) {
    const auto a = figure.of(first.rounds[i]);
    const auto b = figure.of(other.rounds[i]);
    if (!a || !b || *a <= 0) continue;
    firsts.push_back(*a);
    others.push_back(*b);
    ratios.push_back(*b / *a);
  }
  if (ratios.empty()) return std::nullopt;
  const auto [lowest, highest] = std::ranges::minmax(ratios);
  Ratio out{.figure = figure.name, .first = median_of(firsts), .other = median_of(others)};
  out.ratio = out.other / out.first;
  out.lowest = lowest;
  out.highest = highest;
  out.rounds = ratios.size();
  return out;
}

}  // namespace

std::vector<Comparison> compare(const std::vector<TargetReport>& targets) {
  std::vector<Comparison> out;
  for (std::size_t i = 1; i < targets.size(); ++i) {
    Comparison comparison{targets[i].target.name};
    for (const Figure& figure : kFigures) {
      if (const auto ratio = ratio_of(figure, targets.front(), targets[i])) {
        comparison.ratios.push_back(*ratio);
      }
    }
    out.push_back(std::move(comparison));
  }
  return out;
}

bool BenchReport::any_success() const {
  return std::ranges::any_of(targets, [](const TargetReport& t) { return t.all.ok > 0; });
}

bool BenchReport::is_valid() const {
  return std::ranges::all_of(
      targets, [](const TargetReport& t) { return t.dead.empty() && t.all.invalid.empty(); });
}

}  // namespace kantha::bench
