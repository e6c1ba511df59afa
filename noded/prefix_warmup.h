#pragma once

#include <functional>
#include <string>

#include "base/metrics.h"
#include "base/net/http_client.h"
#include "base/net/task_group.h"
#include "noded/engine/engine_keeper.h"
#include "noded/engine/gate_in_front.h"
#include "noded/fleet/hot_prompts.h"

namespace kantha::noded {

struct WarmupPolicy {
  std::size_t prompts_max = 8;
  Duration time_max = std::chrono::seconds(1);
};

/// A pod's engine as the door sees it: a new process is not ready before it has computed the
/// prompts that the one before saw most, so that their users do not all wait for it at once.
/// Bounded by a count and a time, and over as soon as somebody waits here: who waits is served
/// first. One executor.
class PrefixWarmup final : public GateInFront {
 public:
  /// `engine` is asked for everything but readiness; `keeper` tells processes apart.
  PrefixWarmup(boost::asio::any_io_executor executor, EngineGate& engine,
               const EngineKeeper& keeper, net::HttpClient& client, const Clock& clock,
               WarmupPolicy policy = {});

  /// Somebody waits for this engine.
  void set_hurry(std::function<bool()> hurry) { hurry_ = std::move(hurry); }
  HotPrompts& prompts() { return prompts_; }
  /// Warms each new engine until `ended`.
  net::Task<void> run(std::function<bool()> ended);
  void open_metrics(MetricRegistry& metrics, const std::string& pod) const;

  EnginePhase phase() const override;
  std::string message() const override;
  net::Task<bool> wait_ready(Duration timeout) override;

 private:
  bool is_warming() const;
  net::Task<void> warm();

  const EngineKeeper& keeper_;
  net::HttpClient& client_;
  const Clock& clock_;
  WarmupPolicy policy_;
  HotPrompts prompts_;
  std::function<bool()> hurry_ = [] { return false; };
  mutable EngineProcess warmed_;  ///< is ready, as far as we are concerned
  std::int64_t computed_ = 0;
  net::Notify changed_;
};

}  // namespace kantha::noded
