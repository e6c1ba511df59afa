#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/metrics.h"
#include "noded/engine/gate_in_front.h"
#include "noded/models/weight_store.h"
#include "noded/weight_options.h"

namespace kantha::noded {

/// The weights of a pod, and its engine as the door sees it: while they are not there, there is no
/// engine to wait for. Phase "fetching" while they come; "crash_loop" after a round that failed,
/// until the next one. Without weights to bring, the engine as it is. One executor.
class PodWeights final : public GateInFront {
 public:
  PodWeights(const std::optional<WeightOptions>& options, EngineGate& engine, const Clock& clock);

  /// Begins to fetch, when there is something to fetch.
  void start();
  /// The engine may be started.
  bool ready() const;
  /// nullopt when noded brings none.
  std::optional<WeightsState> state() const;
  void open_metrics(MetricRegistry& metrics, const std::string& pod) const;

  EnginePhase phase() const override;
  std::string message() const override;
  net::Task<bool> wait_ready(Duration timeout) override;

 private:
  const Clock& clock_;
  std::unique_ptr<WeightStore> store_;
  mutable bool ready_ = false;  ///< once, for good: they are held in use
};

}  // namespace kantha::noded
