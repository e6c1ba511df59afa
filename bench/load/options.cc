#include "bench/load/options.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace kantha::bench {
namespace {

constexpr int kDefaultRequests = 100;

Status exclude(bool first, const char* first_flag, bool second, const char* second_flag,
               const char* why) {
  if (!first || !second) return ok_status();
  return invalid_argument(fmt::format("{} and {}: {}", first_flag, second_flag, why));
}

Status check_names(const std::vector<Target>& targets) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    for (std::size_t j = i + 1; j < targets.size(); ++j) {
      if (targets[i].name != targets[j].name) continue;
      return invalid_argument("--url: two servers are called \"" + targets[i].name +
                              "\"; name them: --url NAME=URL");
    }
  }
  return ok_status();
}

/// "nan" is a number to those who read numbers.
Status check_finite(const char* flag, double value) {
  if (std::isfinite(value)) return ok_status();
  return invalid_argument(fmt::format("{}: expected a number, got \"{}\"", flag, value));
}

Status check_pairs(const BenchOptions& o) {
  const bool has_trace = !o.trace.empty();
  const bool has_rate = o.rate_per_s > 0;
  TRY_OK(exclude(o.concurrency > 0, "--concurrency", has_rate, "--rate",
                 "a closed loop waits for answers, an open one never does; choose one"));
  TRY_OK(exclude(o.concurrency > 0, "--concurrency", has_trace, "--trace",
                 "a trace says itself when requests are due"));
  TRY_OK(exclude(has_rate, "--rate", has_trace, "--trace",
                 "a trace says itself when requests are due"));
  TRY_OK(exclude(has_trace && o.round_count() > 1, "--trace", true, "--rounds above 1",
                 "each round would have to replay the whole trace; use --rounds 1"));
  TRY_OK(exclude(has_trace, "--trace", o.duration_s > 0, "--duration",
                 "a trace has a length of its own; cut it with --requests"));
  TRY_OK(exclude(!o.is_stream, "--whole", o.slo && o.slo->ttft_ms, "--slo ttft",
                 "a whole answer has no first token; leave --whole out"));
  TRY_OK(exclude(!o.is_stream, "--whole", o.slo && o.slo->itl_ms, "--slo itl",
                 "a whole answer has no gaps; leave --whole out"));
  return exclude(!o.is_stream, "--whole", o.slo && o.slo->tpot_ms, "--slo tpot",
                 "a whole answer has no gaps; leave --whole out");
}

/// Where the "=" behind a name is: names and Unix paths may have such signs of their own.
std::size_t name_end(const std::string& text) {
  if (text.starts_with("http://") || text.starts_with("unix:")) return std::string::npos;
  const std::size_t before_scheme = std::min(text.find("=http://"), text.find("=unix:"));
  return before_scheme != std::string::npos ? before_scheme : text.find('=');
}

}  // namespace

Result<Target> parse_target(const std::string& text) {
  Target target;
  const std::size_t equals = name_end(text);
  const bool has_name = equals != std::string::npos;
  target.url = has_name ? text.substr(equals + 1) : text;
  std::string base = target.url;
  while (base.ends_with('/')) base.pop_back();
  if (base.ends_with("/v1")) base.resize(base.size() - 3);
  Result<net::Endpoint> endpoint = net::parse_endpoint(base);
  if (!endpoint.ok()) return std::move(endpoint).error().with_context("--url");
  target.endpoint = std::move(endpoint).value();
  target.name = has_name && equals > 0 ? text.substr(0, equals) : target.url;
  return target;
}

Status complete_options(BenchOptions& o) {
  if (o.targets.empty()) return invalid_argument("--url: expected at least one server");
  TRY_OK(check_workload(o.workload));
  TRY_OK(check_names(o.targets));
  TRY_OK(check_finite("--rate", o.rate_per_s));
  TRY_OK(check_finite("--duration", o.duration_s));
  TRY_OK(check_finite("--timeout", o.timeout_s));
  TRY_OK(check_pairs(o));
  if (o.requests == 0 && o.duration_s <= 0) {
    o.requests = o.trace.empty() ? kDefaultRequests : static_cast<int>(o.trace.size());
  }
  if (!o.trace.empty()) o.requests = std::min(o.requests, static_cast<int>(o.trace.size()));
  if (!o.is_open_loop() && o.concurrency == 0) o.concurrency = 1;
  const bool is_short = o.requests > 0 && o.requests < o.round_count();
  if (is_short) {
    return invalid_argument(fmt::format("--requests {} and --rounds {}: each round needs a request",
                                        o.requests, o.round_count()));
  }
  return ok_status();
}

std::string describe(const BenchOptions& o) {
  std::string text = o.trace.empty() ? o.workload.name : "trace";
  if (o.concurrency > 0) text += fmt::format(", {} at a time", o.concurrency);
  if (o.rate_per_s > 0) text += fmt::format(", {} requests/s (Poisson)", o.rate_per_s);
  if (o.requests > 0) text += fmt::format(", {} requests", o.requests);
  if (o.duration_s > 0) text += fmt::format(", {} s", o.duration_s);
  if (o.round_count() > 1) text += fmt::format(" in {} rounds", o.round_count());
  return text + fmt::format(", {} API, {}, seed {}", o.api == Api::kChat ? "chat" : "completions",
                            o.is_stream ? "streamed" : "whole answers", o.workload.seed);
}

}  // namespace kantha::bench
