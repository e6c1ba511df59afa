#pragma once

#include <cstdint>

#include "engine/gateway/admission.h"
#include "engine/sim/simulation.h"

/// The engine's admission rules (gateway/admission.h) on simulated requests.
namespace kantha::sim {

class FrontDoor {
 public:
  explicit FrontDoor(const RunOptions& options);

  /// kDone: may be queued behind what waits; else why not.
  Outcome check(const Arrival& arrival, std::int64_t requests_waiting,
                std::int64_t tokens_waiting) const;

 private:
  gateway::EngineLimits limits_;
};

}  // namespace kantha::sim
