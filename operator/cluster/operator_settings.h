#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "operator/kube/resource.h"
#include "operator/runtime/leader_lease.h"
#include "operator/serving/cluster_revision.h"

/// How one operator process was told to work. Values; any thread.
namespace kantha::cluster {

/// Who reads spec.autoscaling.
enum class Autoscaler : std::uint8_t {
  kLaw,  ///< the operator itself (operator/serving/scale_law.h)
  kHpa,  ///< an HPA that the operator makes; it asks the metrics API
};

struct OperatorSettings {
  /// Namespaces whose objects it serves; empty: all of them.
  std::vector<std::string> namespaces = {};
  serving::ClusterSettings pods = {};  ///< images, and how they are pulled

  bool leader_elect = false;
  kube::ObjectKey lease{"default", "kantha-operator"};
  runtime::LeaseTimes lease_times = {};
  std::string identity = "kantha-operator";  ///< of this process among the candidates

  Autoscaler autoscaler = Autoscaler::kLaw;
  /// The load of all pods is asked for, by every replica of the operator: it serves a metrics API.
  bool serves_metrics = false;

  int workers = 8;
  double calls_per_second = 200;  ///< to the API server; 0: no limit
  double calls_burst = 400;
  /// Every object is looked at again after so long, though nothing was seen to change.
  Duration resync = std::chrono::hours(10);
};

}  // namespace kantha::cluster
