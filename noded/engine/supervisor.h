#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "noded/engine/engine_keeper.h"
#include "noded/engine/supervise_step.h"

/// Keeps one engine process running and knows whether it may be used.
namespace kantha::noded {

struct EngineLaunch {
  std::string binary;
  std::string config_path;     ///< JSON file that the engine reads; hashed at every start
  std::string socket_path;     ///< Unix socket that the engine listens on
  std::string log_path;        ///< the engine's stdout and stderr; empty: ours
  std::vector<int> cpus = {};  ///< to which it is pinned; empty: ours
};

/// I/O around supervise_step: spawns, reaps, probes, and wakes those who wait for readiness.
/// Runs on one executor, whose thread must be the program's main thread (children die with it).
class Supervisor final : public EngineKeeper {
 public:
  Supervisor(boost::asio::any_io_executor executor, EngineLaunch launch, SupervisePolicy policy,
             const Clock& clock, net::HttpClient& client);

  /// Supervises until stop() was called and the engine has ended.
  net::Task<void> run() override;
  void stop() override { stop_requested_ = true; }
  void hurry() override;
  /// The new process reads the configuration anew.
  void request_restart() override { restart_requested_ = true; }
  void take_up_config(std::string) override { request_restart(); }

  EnginePhase phase() const override { return state_.phase; }
  std::string message() const override { return state_.message; }
  const SuperviseState& state() const { return state_; }
  std::int64_t pid() const override { return process_ ? process_->pid() : 0; }
  std::int64_t restarts() const override { return state_.restarts; }
  std::string config_hash() const override { return config_hash_; }
  EngineEnds ends() const override { return ends_; }

 private:
  bool given_up() const override {
    return !state_.wanted || state_.phase == EnginePhase::kCrashLoop;
  }
  net::Task<SuperviseInput> observe();
  void note_end(const ProcessExit& end);
  void act(SuperviseAction action);
  void start();

  EngineLaunch launch_;
  SupervisePolicy policy_;
  SuperviseState state_;
  std::optional<Process> process_;
  std::optional<std::string> start_error_;
  std::string config_hash_;
  bool killed_by_us_ = false;  ///< the present process, since it hung
  EngineEnds ends_ = {.count = 0, .last = EngineEnds::Last::kWasEnded};
  bool stop_requested_ = false;
  bool restart_requested_ = false;
};

}  // namespace kantha::noded
