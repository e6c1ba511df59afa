#pragma once

#include <optional>
#include <string>

#include "noded/engine/engine_keeper.h"
#include "noded/engine/watch_step.h"

namespace kantha::noded {

/// An engine that runs in a container of its own, under its own parent (`kantha-engine
/// --supervise`): I/O around watch_step. It is found by its Unix socket, so that a restarted daemon
/// goes on with a running engine. Nothing is started or ended here. One executor.
class ExternalEngine final : public EngineKeeper {
 public:
  ExternalEngine(boost::asio::any_io_executor executor, std::string socket_path, WatchPolicy policy,
                 const Clock& clock, net::HttpClient& client);

  /// Watches until stop().
  net::Task<void> run() override;
  /// The engine goes on without us.
  void stop() override { stopping_ = true; }
  void hurry() override {}
  /// Asks the engine to drain and end; its parent starts the next one.
  void request_restart() override;
  /// The engine's parent sees the file by itself; here the new hash is waited for.
  void take_up_config(std::string hash) override;

  EnginePhase phase() const override { return stopped_ ? EnginePhase::kStopped : state_.phase; }
  std::string message() const override { return state_.message; }
  std::int64_t pid() const override { return state_.pid; }
  std::int64_t restarts() const override { return state_.restarts; }
  std::string config_hash() const override { return state_.config_hash; }
  /// As the running engine has it from its parent.
  EngineEnds ends() const override;

 private:
  bool given_up() const override { return stopping_ || state_.phase == EnginePhase::kCrashLoop; }
  void expect(WatchChange change);
  void step(WatchInput input);
  net::Task<WatchInput> observe();

  WatchPolicy policy_;
  WatchState state_;
  bool end_wanted_ = false;
  bool stopping_ = false;
  bool stopped_ = false;
};

}  // namespace kantha::noded
