#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "engine/sim/report.h"

/// Reports for programs and for people.
namespace kantha::sim {
namespace {

Json to_json(const Quantiles& quantiles) {
  return {{"mean", quantiles.mean},
          {"p50", quantiles.p50},
          {"p90", quantiles.p90},
          {"p95", quantiles.p95},
          {"p99", quantiles.p99}};
}

std::string time_text(double seconds) {
  if (seconds < 0.0995) return fmt::format("{:.1f}ms", seconds * 1e3);
  if (seconds < 1) return fmt::format("{:.0f}ms", seconds * 1e3);
  return fmt::format("{:.{}f}s", seconds, seconds < 100 ? 2 : 0);
}

std::string percent(double share) { return fmt::format("{:.1f}%", share * 100); }

std::vector<std::string> cells(const std::string& name, const Report& r) {
  const Little& little = r.little;
  return {
      name,
      time_text(r.ttft.p50),
      time_text(r.ttft.p99),
      time_text(r.itl.p50),
      time_text(r.itl.p99),
      time_text(r.e2e.p50),
      time_text(r.e2e.p99),
      fmt::format("{:.0f}", r.tokens_per_second),
      fmt::format("{:.3f}", r.requests_per_second),
      fmt::format("{:.3f}", r.goodput_per_second),
      percent(r.slo_share),
      percent(r.waste_mean),
      percent(r.padding_share),
      percent(r.recompute_share),
      percent(r.prefix_hit_share),
      std::to_string(r.preemptions),
      std::to_string(r.outcomes[static_cast<std::size_t>(Outcome::kRefused)]),
      fmt::format("{:.2f}", little.in_system),
      fmt::format("{:.2f}", little.rate_per_second * little.time_s) + (little.steady ? "" : " *")};
}

const std::vector<std::string> kHead = {"policy",  "TTFT p50", "p99",   "ITL p50", "p99",
                                        "E2E p50", "p99",      "tok/s", "req/s",   "good/s",
                                        "SLO",     "waste",    "pad",   "recomp",  "hits",
                                        "preempt", "refused",  "L",     "λW"};

/// Characters, of UTF-8.
std::size_t width(const std::string& text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

}  // namespace

Json to_json(const Report& r) {
  const auto outcome = [&](Outcome kind) { return r.outcomes[static_cast<std::size_t>(kind)]; };
  return {{"requests", r.requests},
          {"done", outcome(Outcome::kDone)},
          {"refused", outcome(Outcome::kRefused)},
          {"too_long", outcome(Outcome::kTooLong)},
          {"deadline", outcome(Outcome::kDeadline)},
          {"duration_s", r.duration_s},
          {"busy_share", r.busy_share},
          {"steps", r.steps},
          {"wait_s", to_json(r.wait)},
          {"ttft_s", to_json(r.ttft)},
          {"itl_s", to_json(r.itl)},
          {"e2e_s", to_json(r.e2e)},
          {"tokens_per_second", r.tokens_per_second},
          {"requests_per_second", r.requests_per_second},
          {"goodput_per_second", r.goodput_per_second},
          {"slo_share", r.slo_share},
          {"little",
           {{"in_system", r.little.in_system},
            {"rate_per_second", r.little.rate_per_second},
            {"time_s", r.little.time_s},
            {"deviation", r.little.deviation},
            {"steady", r.little.steady}}},
          {"waste", {{"mean", r.waste_mean}, {"p95", r.waste_p95}}},
          {"preemptions", r.preemptions},
          {"recompute_share", r.recompute_share},
          {"padding_share", r.padding_share},
          {"prefix_hit_share", r.prefix_hit_share}};
}

std::string report_table(const std::vector<std::string>& names,
                         const std::vector<Report>& reports) {
  CHECK(names.size() == reports.size(), "a name each");
  std::vector<std::vector<std::string>> rows = {kHead};
  bool steady = true;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    rows.push_back(cells(names[i], reports[i]));
    steady = steady && reports[i].little.steady;
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      std::size_t widest = 0;
      for (const auto& other : rows) widest = std::max(widest, width(other[column]));
      const std::string blanks(widest - width(row[column]), ' ');
      line += column == 0 ? row[column] + blanks : "  " + blanks + row[column];
    }
    out += line + "\n";
  }
  if (!steady)
    out +=
        "* not in steady state (L and λW differ by more than 5 %): overload, or too few requests\n";
  return out;
}

}  // namespace kantha::sim
