#include "bench/load/server_metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace kantha::bench {
namespace {

constexpr std::string_view kPrefix = "vllm:";
constexpr std::size_t kNamesMax = 1000;

/// The value behind name and labels, without a timestamp.
std::optional<double> value_of(std::string_view rest) {
  const std::size_t begin = rest.find_first_not_of(' ');
  if (begin == std::string_view::npos) return std::nullopt;
  rest.remove_prefix(begin);
  double value = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (read.ec != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

void read_line(std::string_view line, MetricSums& sums) {
  if (!line.starts_with(kPrefix)) return;
  line.remove_prefix(kPrefix.size());
  const std::size_t name_end = line.find_first_of("{ ");
  if (name_end == std::string_view::npos) return;
  std::string_view name = line.substr(0, name_end);
  if (name.ends_with("_bucket") || name.ends_with("_created")) return;
  if (name.ends_with("_total")) name.remove_suffix(6);
  const std::size_t labels_end = line[name_end] == '{' ? line.rfind('}') : name_end;
  if (labels_end == std::string_view::npos) return;
  const auto value = value_of(line.substr(labels_end + 1));
  if (value && sums.size() < kNamesMax) sums[std::string(name)] += *value;
}

}  // namespace

MetricSums read_metrics(std::string_view text) {
  MetricSums sums;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    read_line(text.substr(begin, end - begin), sums);
    begin = end + 1;
  }
  return sums;
}

bool ServerFigures::any() const {
  return preemptions || prompt_tokens || output_tokens || prefix_hit_ratio || queue_mean_s ||
         waiting_peak || running_peak || kv_usage_peak;
}

void ServerWatch::add_phase(const MetricSums& before, const MetricSums& after) {
  for (const auto& [name, value] : after) {
    const auto earlier = before.find(name);
    const double from = earlier == before.end() || earlier->second > value ? 0 : earlier->second;
    growth_[name] += value - from;
  }
}

void ServerWatch::add_sample(const MetricSums& sample) {
  for (const auto& [name, value] : sample) {
    const auto [kept, is_new] = peaks_.try_emplace(name, value);
    if (!is_new) kept->second = std::max(kept->second, value);
  }
}

std::optional<double> ServerWatch::grown(const std::string& name) const {
  const auto found = growth_.find(name);
  return found == growth_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> ServerWatch::peak(const std::string& name) const {
  const auto found = peaks_.find(name);
  return found == peaks_.end() ? std::nullopt : std::optional(found->second);
}

ServerFigures ServerWatch::figures() const {
  ServerFigures out;
  out.preemptions = grown("num_preemptions");
  out.prompt_tokens = grown("prompt_tokens");
  out.output_tokens = grown("generation_tokens");
  const auto queries = grown("prefix_cache_queries");
  const auto hits = grown("prefix_cache_hits");
  if (queries && hits && *queries > 0) out.prefix_hit_ratio = *hits / *queries;
  const auto waits = grown("request_queue_time_seconds_count");
  const auto waited = grown("request_queue_time_seconds_sum");
  if (waits && waited && *waits > 0) out.queue_mean_s = *waited / *waits;
  out.waiting_peak = peak("num_requests_waiting");
  out.running_peak = peak("num_requests_running");
  out.kv_usage_peak = peak("kv_cache_usage_perc");
  return out;
}

}  // namespace kantha::bench
