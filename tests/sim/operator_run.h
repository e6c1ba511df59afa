#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/metrics.h"
#include "operator/cluster/cluster_operator.h"
#include "tests/fake/api_server/fake_transport.h"

/// One life of the real operator, from its start to its end or crash. One executor.
namespace kantha::sim {

class OperatorRun {
 public:
  OperatorRun(boost::asio::any_io_executor executor, const Clock& clock,
              fake::FakeApiServer& server, cluster::PodDoor& door,
              cluster::OperatorSettings settings, std::uint64_t seed);

  /// Begins; ends by itself when stopped or when its lease is lost.
  static void start(const std::shared_ptr<OperatorRun>& run, net::TaskGroup& tasks);
  /// Asks it to end properly (SIGTERM).
  void stop() { operator_.stop(); }
  /// Nothing of it reaches the server any more, and it ends as soon as it notices (SIGKILL).
  void kill();
  bool has_ended() const { return has_ended_; }
  bool is_killed() const { return is_killed_; }

  fake::FakeTransport& transport() { return transport_; }
  cluster::ClusterOperator& real() { return operator_; }
  MetricRegistry& metrics() { return metrics_; }

 private:
  static net::Task<void> live(std::shared_ptr<OperatorRun> run);

  MetricRegistry metrics_;
  fake::FakeTransport transport_;
  cluster::ClusterOperator operator_;
  bool has_ended_ = false;
  bool is_killed_ = false;
};

}  // namespace kantha::sim
