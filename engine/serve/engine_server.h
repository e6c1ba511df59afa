#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/net/http.h"
#include "base/result.h"
#include "engine/serve/engine_config.h"
#include "engine/serve/phase_board.h"
#include "engine/serve/served_model.h"

namespace kantha::serve {

/// Loads a model; runs on a worker thread and reports its steps. An error ends the program with
/// kExitModel.
using BootFunction = std::function<Result<ServedModel>(PhaseBoard& board)>;

/// One engine process's HTTP side, from the first listening socket to the exit status.
///
/// Flow: listen → run: boot in the background while health routes answer → ready → on shutdown:
/// refuse new work, let running requests finish until the drain timeout, end the rest with an error
/// event, close. Threads: the caller of run() becomes the I/O thread; shutdown() may come from any
/// thread.
class EngineServer {
 public:
  EngineServer(EngineConfig config, BootFunction boot, const Clock& clock);
  ~EngineServer();

  /// Binds every endpoint of the configuration and reads the admin token.
  Status listen();
  /// Where it listens, with real ports, in the configuration's order.
  const std::vector<net::Endpoint>& endpoints() const;
  /// SIGTERM and SIGINT become shutdown().
  void handle_signals();
  /// Serves until it has been shut down; gives the exit status (command_line.h). Called once.
  int run();
  /// The first call drains, the second ends at once. Thread-safe.
  void shutdown();

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace kantha::serve
