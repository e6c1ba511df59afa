#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "operator/kube/resource.h"
#include "operator/serving/plan_rollout.h"

/// What /metrics says of rollouts. Totals are series of the registry; where each object stands is a
/// page of its own, because objects go and series of a registry stay. One executor.
///
///   kantha_operator_rollout_events_total{reason}   transitions written, by their Event
///   kantha_operator_rollout_verdicts_total{verdict}   Pass, Fail, Inconclusive
///   kantha_operator_rollback_seconds   from a breach seen to the first pod told to go back
///   kantha_operator_rollout_phase{serving_namespace,serving,phase,ring,target}   1
///   kantha_operator_rollout_phase_started_seconds{serving_namespace,serving}   Unix time
///   kantha_operator_rollout_ring_pods{serving_namespace,serving}   0: all of them
///
/// The labels are not `namespace` and `name`: Prometheus keeps those for what it scrapes.
namespace kantha::cluster {

class RolloutBoard {
 public:
  explicit RolloutBoard(MetricRegistry& metrics);

  /// Where an object stands, as its status has it.
  void see(const kube::ObjectKey& key, const serving::RolloutState& state);
  void forget(const kube::ObjectKey& key);
  /// Transitions that are in status now.
  void count(const std::vector<serving::RolloutEvent>& events);

  /// The target failed; not yet in status, and the first time counts.
  void breach(const kube::ObjectKey& key, TimePoint now);
  /// A pod was told to go back.
  void told_back(const kube::ObjectKey& key, TimePoint now);

  /// The series of single objects, in Prometheus' text format.
  std::string scrape() const;

 private:
  struct Entry {
    std::string phase;
    std::string ring;
    std::string target;  ///< short revision
    std::int64_t ring_pods = 0;
    std::int64_t since = 0;
    std::optional<TimePoint> breach = {};
  };
  MetricRegistry& metrics_;
  Histogram& rollback_seconds_;
  std::map<kube::ObjectKey, Entry> entries_;
};

}  // namespace kantha::cluster
