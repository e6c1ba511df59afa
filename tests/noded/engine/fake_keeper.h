#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "noded/engine/engine_keeper.h"

namespace kantha::noded {

/// An engine that is what the test says, with whatever answers at its socket.
class FakeKeeper final : public EngineKeeper {
 public:
  using EngineKeeper::EngineKeeper;
  net::Task<void> run() override { co_return; }
  void stop() override {}
  void hurry() override {}
  void request_restart() override {}
  void take_up_config(std::string) override {}
  std::int64_t pid() const override { return pid_; }
  std::int64_t restarts() const override { return 0; }
  std::string config_hash() const override { return "h"; }
  EnginePhase phase() const override { return phase_; }
  std::string message() const override { return "as the test says"; }
  void become(EnginePhase phase, std::int64_t pid) {
    const EnginePhase before = std::exchange(phase_, phase);
    pid_ = pid;
    announce(before);
  }

 private:
  bool given_up() const override { return false; }
  EnginePhase phase_ = EnginePhase::kStarting;
  std::int64_t pid_ = 0;
};

}  // namespace kantha::noded
