#include "engine/sim/report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace kantha::sim {
namespace {

constexpr double kSteadyDeviation = 0.05;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

double share(double part, double whole) { return whole == 0 ? 0 : part / whole; }

Quantiles quantiles_of(const Histogram& histogram) {
  return {.mean = histogram.mean(),
          .p50 = histogram.quantile(0.50),
          .p90 = histogram.quantile(0.90),
          .p95 = histogram.quantile(0.95),
          .p99 = histogram.quantile(0.99)};
}

bool was_served(const RequestRecord& record) {
  return record.outcome == Outcome::kDone || record.outcome == Outcome::kDeadline;
}

bool within(const RequestRecord& record, const Slo& slo) {
  if (record.outcome != Outcome::kDone || record.first_token - record.queued > slo.ttft) {
    return false;
  }
  if (record.output_tokens < 2) return true;
  return record.last_token - record.first_token <= slo.itl * (record.output_tokens - 1);
}

Little little_of(const std::vector<RequestRecord>& requests) {
  TimePoint first = TimePoint::max();
  TimePoint last{};
  for (const RequestRecord& record : requests) {
    if (!was_served(record)) continue;
    first = std::min(first, record.queued);
    last = std::max(last, record.queued);
  }
  Little little;
  if (first >= last) return little;
  first += (last - first) / 10;
  double area = 0;
  double time = 0;
  double arrivals = 0;
  for (const RequestRecord& record : requests) {
    if (!was_served(record)) continue;
    const Duration inside = std::min(record.end, last) - std::max(record.queued, first);
    area += std::max(0.0, seconds(inside));
    if (record.queued < first) continue;
    ++arrivals;
    time += seconds(record.end - record.queued);
  }
  little.in_system = area / seconds(last - first);
  little.rate_per_second = arrivals / seconds(last - first);
  little.time_s = share(time, arrivals);
  little.deviation =
      share(std::abs(little.rate_per_second * little.time_s - little.in_system), little.in_system);
  little.steady = little.in_system > 0 && little.deviation <= kSteadyDeviation;
  return little;
}

}  // namespace

Quantiles quantiles(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto at = [&](double wanted) {
    const auto rank = std::ceil(wanted * static_cast<double>(values.size()));
    return values[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
  };
  double sum = 0;
  for (const double value : values) sum += value;
  return {.mean = sum / static_cast<double>(values.size()),
          .p50 = at(0.50),
          .p90 = at(0.90),
          .p95 = at(0.95),
          .p99 = at(0.99)};
}

Report report(const Trace& trace, const Slo& slo) {
  Report out;
  out.requests = static_cast<std::int64_t>(trace.requests.size());
  std::vector<double> wait;
  std::vector<double> ttft;
  std::vector<double> e2e;
  double tokens = 0;
  double good = 0;
  for (const RequestRecord& record : trace.requests) {
    ++out.outcomes[static_cast<std::size_t>(record.outcome)];
    tokens += record.output_tokens;
    good += within(record, slo) ? 1 : 0;
    if (record.output_tokens > 0) {
      wait.push_back(seconds(record.started - record.queued));
      ttft.push_back(seconds(record.first_token - record.queued));
    }
    if (record.outcome == Outcome::kDone) e2e.push_back(seconds(record.end - record.queued));
  }
  out.duration_s = seconds(trace.finished - TimePoint{});
  out.busy_share = share(seconds(trace.busy), out.duration_s);
  out.steps = trace.step_count;
  out.requests_per_second = share(static_cast<double>(e2e.size()), out.duration_s);
  out.wait = quantiles(std::move(wait));
  out.ttft = quantiles(std::move(ttft));
  out.itl = quantiles_of(trace.itl);
  out.e2e = quantiles(std::move(e2e));
  out.tokens_per_second = share(tokens, out.duration_s);
  out.goodput_per_second = share(good, out.duration_s);
  out.slo_share = share(good, static_cast<double>(out.requests));
  out.little = little_of(trace.requests);
  out.waste_mean = trace.waste.mean();
  out.waste_p95 = trace.waste.quantile(0.95);
  out.preemptions = trace.preemptions;
  const auto rows = static_cast<double>(trace.rows);
  out.recompute_share = share(static_cast<double>(trace.recomputed_rows), rows);
  out.padding_share = share(static_cast<double>(trace.padding_rows), rows);
  out.prefix_hit_share =
      share(static_cast<double>(trace.prefix_hits), static_cast<double>(trace.prefix_queries));
  return out;
}

}  // namespace kantha::sim
