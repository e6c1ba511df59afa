#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

/// What a server says of itself at /metrics, as far as it uses vLLM's names. Pure. Any thread.
namespace kantha::bench {

/// One scrape: series summed over their labels. Names without "vllm:" and "_total".
using MetricSums = std::map<std::string, double>;

/// Reads Prometheus text; lines that are none are skipped. Only names that begin with "vllm:",
/// without histogram buckets.
MetricSums read_metrics(std::string_view text);

/// What changed in a run, beside the client's own figures. Absent: the server does not tell.
struct ServerFigures {
  std::optional<double> preemptions = {};
  std::optional<double> prompt_tokens = {};
  std::optional<double> output_tokens = {};
  std::optional<double> prefix_hit_ratio = {};  ///< tokens found / tokens looked up
  std::optional<double> queue_mean_s = {};
  std::optional<double> waiting_peak = {};  ///< requests, of the samples taken in between
  std::optional<double> running_peak = {};
  std::optional<double> kv_usage_peak = {};  ///< share
  bool any() const;
};

/// Adds up what one scrape before and one after a phase differ by.
class ServerWatch {
 public:
  /// Differences of the counters; a counter that fell (a restart) counts from zero.
  void add_phase(const MetricSums& before, const MetricSums& after);
  /// Gauges in the middle of a phase.
  void add_sample(const MetricSums& sample);
  ServerFigures figures() const;

 private:
  std::optional<double> grown(const std::string& name) const;
  std::optional<double> peak(const std::string& name) const;

  MetricSums growth_;
  MetricSums peaks_;
};

}  // namespace kantha::bench
