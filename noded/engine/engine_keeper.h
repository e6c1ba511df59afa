#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/net/http_client.h"
#include "base/net/task_group.h"
#include "noded/engine/engine_gate.h"
#include "noded/engine/engine_probe.h"

namespace kantha::noded {

/// One engine process. What is known of an engine counts while this stays the same: the engine of a
/// new container may have the pid and the restarts of the one before, and be another build, so that
/// each time an engine becomes ready counts, too.
struct EngineProcess {
  std::int64_t pid = 0;  ///< 0: there is none
  std::int64_t restarts = 0;
  std::int64_t times_ready = 0;
  bool operator==(const EngineProcess&) const = default;
};

/// An engine gate and whoever looks after the engine behind it, as the pod's daemon sees both. What
/// all keepers share is here: the probe, the reports, and waking those who wait. There are two:
/// Supervisor (the engine is our child) and ExternalEngine (somebody else runs it). One executor.
class EngineKeeper : public EngineGate {
 public:
  EngineKeeper(boost::asio::any_io_executor executor, std::string socket_path, const Clock& clock,
               net::HttpClient& client);

  /// Looks after the engine until stop() was called and nothing is left to do.
  virtual net::Task<void> run() = 0;
  virtual void stop() = 0;
  /// Ends a running engine that is ours without its drain.
  virtual void hurry() = 0;
  /// Has the engine process replaced. Streams are the caller's matter: wait for them first.
  virtual void request_restart() = 0;
  /// The engine's configuration file was replaced by one with this hash: have it taken up. Not
  /// ready from the next turn on until an engine runs with it (or none can be had).
  virtual void take_up_config(std::string hash) = 0;
  virtual std::int64_t pid() const = 0;
  /// Engine processes after the first one.
  virtual std::int64_t restarts() const = 0;
  /// SHA-256 of the configuration file as the running engine read it; empty when unknown.
  virtual std::string config_hash() const = 0;
  bool ready() const { return phase() == EnginePhase::kReady; }
  EngineProcess process() const { return {pid(), restarts(), times_ready_}; }
  net::Task<bool> wait_ready(Duration timeout) override;
  void suspect() override { probe_due_ = {}; }
  net::Endpoint endpoint() const override { return probe_.endpoint(); }
  bool was_ready() const override { return times_ready_ > 0; }
  /// When its first engine was; whatever came later.
  std::optional<TimePoint> first_ready() const { return first_ready_; }
  const ReportBook& reports() const { return reports_; }
  /// For somebody who reads them now: asks a ready engine unless it was asked a moment ago, and
  /// waits for a quarter of a second at most. Then the reports are as they were.
  net::Task<void> freshen_reports();

 protected:
  /// Nobody needs to wait for an engine now.
  virtual bool given_up() const = 0;
  /// Wakes those who wait and writes a log line, when the phase is another one.
  void announce(EnginePhase before);
  /// Reads a report, when one is due or `now` is set. False when there is no fresh one.
  net::Task<bool> refresh_report(bool now = false);

  boost::asio::any_io_executor executor_;
  const Clock& clock_;
  EngineProbe probe_;
  ReportBook reports_;
  TimePoint probe_due_{};  ///< when to ask /ready next

 private:
  net::Notify changed_;
  std::int64_t times_ready_ = 0;
  std::optional<TimePoint> first_ready_;
};

}  // namespace kantha::noded
