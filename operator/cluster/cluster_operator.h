#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/net/task_group.h"
#include "operator/cluster/activator_door.h"
#include "operator/cluster/debug_view.h"
#include "operator/cluster/operator_settings.h"
#include "operator/cluster/pod_door.h"
#include "operator/kube/transport.h"
#include "operator/metricsapi/metric_table.h"

/// The world with Kubernetes: eyes and hands around the planner, as operator/local is for the world
/// without. One executor.
///
/// Flow: watch → store → trigger → queue → gather → plan → apply → report, and again.
/// Guarantees: writes only while it leads (when it has to be elected) and only what is not so yet:
/// an idle fleet costs no write, also after a restart; destroying it at any moment and starting
/// another one leads to the same cluster.
/// Assumptions: transport, door, clock and registry outlive it; it is destroyed after run() has
/// returned.
namespace kantha::cluster {

class ClusterOperator {
 public:
  /// `seed` decides every jitter. Without `activators` no object is scaled to zero.
  ClusterOperator(boost::asio::any_io_executor executor, const Clock& clock,
                  kube::Transport& transport, PodDoor& door, MetricRegistry& metrics,
                  OperatorSettings settings, std::uint64_t seed,
                  ActivatorDoor* activators = nullptr);
  ~ClusterOperator();

  /// Works until stop() or until it has lost the lease; then ends workers, lease, events and
  /// watchers, in this order, and returns.
  net::Task<void> run();
  void stop();

  /// It led and does not any more: the process should end, so that nothing half-known goes on.
  bool lost_lease() const;
  /// The stores are whole. A candidate that does not lead is ready, too.
  bool is_ready() const;
  bool is_leading() const;
  /// Writes tried so far, events and leases left out.
  std::int64_t write_count() const;
  /// The pods' load, for a metrics API.
  const metricsapi::MetricTable& samples() const;
  /// Where each object's rollout stands, in Prometheus' text format.
  std::string rollout_series() const;
  /// Everything that explains what it does or waits for, for people.
  DebugView debug_view() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace kantha::cluster
