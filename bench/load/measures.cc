#include "bench/load/measures.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace kantha::bench {
namespace {

double to_s(Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// Values of all requests, before they become distributions.
struct Values {
  std::vector<double> ttft, itl, tpot, e2e, late, input, output;
  double content_chunks = 0;
  double coalesced = 0;
  double tokens_in = 0, tokens_out = 0, tokens_cached = 0;
  double tokens_out_streamed = 0;  ///< of answers that came with chunks
  bool knows_cached = false;
  std::size_t good = 0;
};

void add_tokens(const RequestLog& request, Values& values, Measures& out) {
  values.content_chunks += static_cast<double>(request.content_at.size());
  values.coalesced += static_cast<double>(request.coalesced);
  if (!request.usage) {
    ++out.without_usage;
    return;
  }
  const auto in = static_cast<double>(request.usage->prompt_tokens);
  const auto tokens = static_cast<double>(request.usage->output_tokens);
  values.input.push_back(in);
  values.output.push_back(tokens);
  values.tokens_in += in;
  values.tokens_out += tokens;
  if (!request.content_at.empty()) values.tokens_out_streamed += tokens;
  if (request.usage->cached_tokens) {
    values.knows_cached = true;
    values.tokens_cached += static_cast<double>(*request.usage->cached_tokens);
  }
}

void add_success(const RequestLog& request, Values& values, Measures& out) {
  ++out.ok;
  if (!request.has_end_mark) ++out.without_end_mark;
  if (const auto value = ttft_ms(request)) values.ttft.push_back(*value);
  if (const auto value = tpot_ms(request)) values.tpot.push_back(*value);
  values.e2e.push_back(e2e_ms(request));
  const std::vector<double> gaps = itl_ms(request);
  values.itl.insert(values.itl.end(), gaps.begin(), gaps.end());
  add_tokens(request, values, out);
}

void add_request(const RequestLog& request, const MeasureOptions& options, Values& values,
                 Measures& out) {
  ++out.sent;
  if (request.was_resent) ++out.resent;
  if (request.ok()) {
    add_success(request, values, out);
    if (options.slo && meets(request, *options.slo)) ++values.good;
  } else if (request.outcome == Outcome::kCancelled) {
    ++out.cancelled;
  } else {
    ++out.failed;
    ++out.failures[request.kind()];
    out.first_errors.emplace(request.kind(), request.error);
  }
}

LittleCheck check_little(std::span<const Phase> phases, double window_s) {
  double residence_s = 0;
  double in_flight_s = 0;
  std::size_t count = 0;
  for (const Phase& phase : phases) {
    in_flight_s += phase.in_flight_s;
    count += phase.requests.size();
    for (const RequestLog& request : phase.requests) {
      residence_s += to_s(request.ended - request.due);
    }
  }
  LittleCheck check;
  if (count == 0 || window_s <= 0) return check;
  check.in_flight_mean = in_flight_s / window_s;
  check.arrivals_per_s = static_cast<double>(count) / window_s;
  check.latency_mean_s = residence_s / static_cast<double>(count);
  const double product = check.arrivals_per_s * check.latency_mean_s;
  if (product > 0) check.deviation = std::abs(check.in_flight_mean - product) / product;
  check.holds = check.deviation <= kLittleDeviationMax;
  return check;
}

/// Mean number of requests in flight in [begin, end).
double in_flight_between(const Phase& phase, Duration begin, Duration end) {
  double inside_s = 0;
  for (const RequestLog& request : phase.requests) {
    inside_s += to_s(
        std::max(Duration::zero(), std::min(request.ended, end) - std::max(request.due, begin)));
  }
  return inside_s / std::max(1e-9, to_s(end - begin));
}

/// Of the time in which requests arrived: how much more was in flight late than early.
std::optional<double> backlog_growth(std::span<const Phase> phases) {
  double early = 0;
  double late = 0;
  for (const Phase& phase : phases) {
    if (!phase.was_open_loop || phase.requests.size() < 30) return std::nullopt;
    Duration last_due{};
    for (const RequestLog& request : phase.requests) last_due = std::max(last_due, request.due);
    early += in_flight_between(phase, Duration::zero(), last_due / 3);
    late += in_flight_between(phase, last_due * 2 / 3, last_due);
  }
  if (early <= 0) return std::nullopt;
  return late / early;
}

void set_rates(const Values& values, const MeasureOptions& options, Measures& out) {
  const auto attempts = static_cast<double>(out.sent - out.cancelled + out.dropped);
  if (options.slo && attempts > 0) {
    out.goodput_share = static_cast<double>(values.good) / attempts;
  }
  if (values.content_chunks > 0) out.coalesced_share = values.coalesced / values.content_chunks;
  if (values.content_chunks > 0 && out.without_usage == 0 && values.tokens_out_streamed > 0) {
    out.tokens_per_chunk = values.tokens_out_streamed / values.content_chunks;
  }
  if (values.knows_cached && values.tokens_in > 0) {
    out.cached_share = values.tokens_cached / values.tokens_in;
  }
  if (out.window_s <= 0 || out.ok == 0) return;
  out.requests_per_s = static_cast<double>(out.ok) / out.window_s;
  if (options.slo) out.goodput_per_s = static_cast<double>(values.good) / out.window_s;
  if (out.without_usage > 0) return;
  out.output_tokens_per_s = values.tokens_out / out.window_s;
  out.total_tokens_per_s = (values.tokens_in + values.tokens_out) / out.window_s;
}

void set_distributions(Values values, Measures& out) {
  out.ttft_ms = distribution_of(std::move(values.ttft));
  out.itl_ms = distribution_of(std::move(values.itl));
  out.tpot_ms = distribution_of(std::move(values.tpot));
  out.e2e_ms = distribution_of(std::move(values.e2e));
  out.late_ms = distribution_of(std::move(values.late));
  out.input_tokens = distribution_of(std::move(values.input));
  out.output_tokens = distribution_of(std::move(values.output));
}

/// Answers that met the letter of the API and yet leave a figure open.
void judge_answers(const MeasureOptions& options, Measures& out) {
  if (out.without_usage > 0) {
    out.warnings.push_back(fmt::format(
        "{} of {} answers gave no usage: tokens per second and TPOT are not known (chunks are not "
        "counted as tokens)",
        out.without_usage, out.ok));
  }
  if (options.is_stream && out.without_end_mark > 0) {
    out.warnings.push_back(
        fmt::format("{} of {} streams ended without [DONE]", out.without_end_mark, out.ok));
  }
  if (out.tokens_per_chunk && *out.tokens_per_chunk > 1.05) {
    out.warnings.push_back(
        fmt::format("a chunk carries {:.2f} tokens on average: ITL is the time between chunks, not "
                    "between tokens; see TPOT",
                    *out.tokens_per_chunk));
  }
  if (out.coalesced_share > 0.05) {
    out.warnings.push_back(fmt::format(
        "{:.0f} % of the chunks came in one read with the one before and count as a gap "
        "of 0 ms: see TPOT",
        out.coalesced_share * 100));
  }
}

/// The shortest time that the run measured.
double shortest_median_ms(const Measures& m) {
  double shortest = m.e2e_ms ? m.e2e_ms->p50 : 0;
  for (const auto& other : {m.itl_ms, m.ttft_ms}) {
    if (other) shortest = std::min(shortest, other->p50);
  }
  return shortest;
}

void judge_client(Measures& out) {
  if (out.client_cpu_share > 0.7) {
    out.warnings.push_back(
        fmt::format("the client used {:.0f} % of its one core: it may have been the bottleneck",
                    out.client_cpu_share * 100));
  }
  const double lag_that_matters_ms = std::max(10.0, 0.05 * shortest_median_ms(out));
  if (out.lag_p99_ms && *out.lag_p99_ms > lag_that_matters_ms) {
    out.warnings.push_back(fmt::format(
        "the client's own timer ran {:.1f} ms late (p99): latencies may be over by as much",
        *out.lag_p99_ms));
  }
  if (out.late_ms && out.late_ms->p99 > 10) {
    out.warnings.push_back(fmt::format(
        "requests were sent late (p99 {:.1f} ms, worst {:.1f} ms); their latencies count from when "
        "they were due",
        out.late_ms->p99, out.late_ms->max));
  }
}

void judge_run(std::span<const Phase> phases, Measures& out) {
  if (out.ok == 0) out.invalid.push_back("no request succeeded");
  if (!out.little.holds) {
    out.invalid.push_back(fmt::format(
        "Little's law does not hold: L = {:.3f} in flight, but λW = {:.3f} ({:.1f} % apart, at "
        "most {:.0f} %)",
        out.little.in_flight_mean, out.little.arrivals_per_s * out.little.latency_mean_s,
        out.little.deviation * 100, kLittleDeviationMax * 100));
  }
  if (out.dropped > 0) {
    out.invalid.push_back(fmt::format(
        "{} of {} arrivals were not sent, because --in-flight-max requests were in flight: the "
        "server did not see the load that was asked for",
        out.dropped, out.dropped + out.sent));
  }
  if (out.backlog_growth && *out.backlog_growth > 2) {
    out.warnings.push_back(
        fmt::format("the backlog grew {:.1f}-fold while requests arrived: the rate is above what "
                    "the server can "
                    "do, and latencies depend on the length of the run",
                    *out.backlog_growth));
  }
  if (std::ranges::any_of(phases, &Phase::was_interrupted)) {
    out.warnings.push_back(
        fmt::format("interrupted: {} requests were cut off and are left out", out.cancelled));
  }
  if (std::ranges::any_of(phases, &Phase::was_hopeless)) {
    out.warnings.push_back("given up early: nothing but failures from the first request on");
  }
}

}  // namespace

Measures measure(std::span<const Phase> phases, const MeasureOptions& options) {
  Measures out;
  Values values;
  std::vector<double> lag;
  double cpu_s = 0;
  for (const Phase& phase : phases) {
    out.window_s += to_s(phase.length);
    out.dropped += phase.dropped;
    out.in_flight_peak = std::max(out.in_flight_peak, phase.in_flight_peak);
    cpu_s += phase.client_cpu_s;
    lag.insert(lag.end(), phase.lag_ms.begin(), phase.lag_ms.end());
    for (const RequestLog& request : phase.requests) {
      add_request(request, options, values, out);
      if (phase.was_open_loop) values.late.push_back(to_s(request.sent - request.due) * 1e3);
    }
  }
  out.little = check_little(phases, out.window_s);
  out.backlog_growth = backlog_growth(phases);
  if (out.window_s > 0) out.client_cpu_share = cpu_s / out.window_s;
  if (const auto spread = distribution_of(std::move(lag))) out.lag_p99_ms = spread->p99;
  set_rates(values, options, out);
  set_distributions(std::move(values), out);
  judge_run(phases, out);
  if (out.ok > 0) judge_answers(options, out);
  judge_client(out);
  return out;
}

}  // namespace kantha::bench
