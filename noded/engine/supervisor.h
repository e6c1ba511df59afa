#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/net/http_client.h"
#include "base/net/task_group.h"
#include "base/process.h"
#include "noded/engine/engine_gate.h"
#include "noded/engine/engine_probe.h"
#include "noded/engine/supervise_step.h"

/// Keeps one engine process running and knows whether it may be used.
namespace kantha::noded {

struct EngineLaunch {
  std::string binary;
  std::string config_path;  ///< JSON file that the engine reads; hashed at every start
  std::string socket_path;  ///< Unix socket that the engine listens on
  std::string log_path;     ///< the engine's stdout and stderr; empty: ours
};

/// I/O around supervise_step: spawns, reaps, probes, and wakes those who wait for readiness.
/// Runs on one executor, whose thread must be the program's main thread (children die with it).
class Supervisor final : public EngineGate {
 public:
  Supervisor(boost::asio::any_io_executor executor, EngineLaunch launch, SupervisePolicy policy,
             const Clock& clock, net::HttpClient& client);

  /// Supervises until stop() was called and the engine has ended.
  net::Task<void> run();
  /// Ends the engine and run().
  void stop();
  /// Ends a running engine without its drain.
  void hurry();
  /// Replaces the engine process with one that reads the configuration anew. Streams are the
  /// caller's matter: wait for them first.
  void request_restart();

  EnginePhase phase() const override { return state_.phase; }
  std::string message() const override { return state_.message; }
  const SuperviseState& state() const { return state_; }
  bool ready() const { return state_.phase == EnginePhase::kReady; }
  net::Task<bool> wait_ready(Duration timeout) override;
  void suspect() override { probe_due_ = {}; }
  net::Endpoint endpoint() const override;

  std::int64_t pid() const { return process_ ? process_->pid() : 0; }
  /// SHA-256 of the configuration file as the running engine read it.
  const std::string& config_hash() const { return config_hash_; }
  /// The last report and when it was taken.
  const EngineReport& report() const { return report_; }
  std::optional<TimePoint> report_taken() const { return report_taken_; }
  double tokens_per_second() const { return tokens_per_second_; }

 private:
  net::Task<SuperviseInput> observe();
  net::Task<void> refresh_report();
  void act(SuperviseAction action);
  void start();

  boost::asio::any_io_executor executor_;
  EngineLaunch launch_;
  SupervisePolicy policy_;
  const Clock& clock_;
  EngineProbe probe_;
  net::Notify changed_;
  SuperviseState state_;
  std::optional<Process> process_;
  std::optional<std::string> start_error_;
  std::string config_hash_;
  EngineReport report_;
  std::optional<TimePoint> report_taken_;
  double tokens_per_second_ = 0;
  TimePoint probe_due_{};
  bool stop_requested_ = false;
  bool restart_requested_ = false;
};

}  // namespace kantha::noded
