#pragma once

#include <array>
#include <map>
#include <string>

#include "base/metrics.h"
#include "noded/gateway/forward_outcome.h"
#include "noded/gateway/gatekeeper.h"

namespace kantha::noded {

/// The door's series (docs/metrics-noded.md). Labels are bounded: the first 50 tenants have their
/// names, later ones are "other"; a request without a tenant is "none", one from another pod's door
/// "peer". One executor.
class DoorMetrics {
 public:
  DoorMetrics(MetricRegistry& registry, std::string pod);

  void refused(DoorRefusal refusal);
  /// One request that is not a probe was answered, by whomever.
  void answered(const std::string& tenant, const ForwardOutcome& outcome);

 private:
  Counter& answers(const std::string& tenant, int status);
  std::string tenant_label(const std::string& tenant);
  void used(const std::string& tenant, const ForwardOutcome& outcome);

  MetricRegistry& registry_;
  std::string pod_;
  std::array<Counter*, kDoorRefusals> refusals_ = {};
  std::map<std::pair<std::string, int>, Counter*> answers_;
  std::map<std::string, std::array<Counter*, 2>> tokens_;  ///< prompt, output
  std::map<std::string, std::string> labels_;
  Histogram& total_;
  Histogram& first_byte_;
  Histogram& held_;
};

}  // namespace kantha::noded
