#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

/// What is known of the pods' load, by namespace: the figures that the metrics API gives out.
/// Filled by whoever asks the nodeds. One thread.
namespace kantha::metricsapi {

/// The metrics, by the names under which an HPA asks for them.
enum class Metric : unsigned char {
  kKvPressure,
  kQueuedTokens,
  kRunningRequests,
  kTokensPerSecond
};
inline constexpr std::array<std::string_view, 4> kMetricNames = {
    "kv_pressure", "queued_tokens", "running_requests", "tokens_per_second"};
std::optional<Metric> metric_of(std::string_view name);

/// The figures of one pod that serves.
struct Sample {
  std::array<double, kMetricNames.size()> values{};  ///< in the order of Metric
  double kv_blocks_total = 0;                        ///< the pod's weight in a mean of pressures
  TimePoint taken{};                                 ///< when its engine knew this
  /// Since its door's last request, as of `heard`; nullopt: its noded does not say.
  std::optional<Duration> idle = {};
  TimePoint heard{};  ///< when its noded answered

  double value(Metric metric) const { return values[static_cast<std::size_t>(metric)]; }
};

/// A sample older than this is not given out: the HPA itself asks for no age, so that a dead pod's
/// last figure would steer it for ever.
inline constexpr Duration kSampleKeptFor = std::chrono::seconds(30);

struct PodEntry {
  std::string name;
  std::string serving;                        ///< name of its ModelServing
  std::map<std::string, std::string> labels;  ///< those that a selector may ask for
  /// nullopt: it loads, drains, swaps, or never answered. Absent is not zero.
  std::optional<Sample> sample = {};
};

class MetricTable {
 public:
  /// The pod as it is now. `key` is unique over all pods (its uid).
  void put(const std::string& name_space, const std::string& key, PodEntry entry);
  void remove(const std::string& name_space, const std::string& key);
  /// Forgets the pods that are not among `keys` (of all namespaces).
  void keep_only(const std::map<std::string, std::string>& namespace_by_key);

  /// A pod's fresh sample; nullptr without one.
  static const Sample* fresh(const PodEntry& entry, TimePoint now);
  /// The pods of a namespace in the order of their keys.
  std::vector<const PodEntry*> pods(const std::string& name_space) const;
  const PodEntry* find(const std::string& name_space, const std::string& key) const;
  std::size_t size() const;

 private:
  std::map<std::string, std::map<std::string, PodEntry>> spaces_;
};

}  // namespace kantha::metricsapi
