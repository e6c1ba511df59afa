#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/net/http.h"
#include "base/result.h"
#include "engine/serve/parent_step.h"

/// `kantha-engine --supervise`: the parent of an engine in a container of its own. It waits for the
/// configuration file, starts the engine (the same program without --supervise), starts it again
/// after a crash, replaces it when the file changes, passes the end on, and reaps what the engine
/// leaves behind (it is process 1 there). It writes nothing but log lines.
///
/// Thread: the caller of run(), which must be the main thread (the engine dies with it).
namespace kantha::serve {

/// What the parent must know of the configuration of which it takes care.
struct ParentFacts {
  Duration drain_timeout = std::chrono::seconds(30);
  std::optional<net::Endpoint> endpoint = {};  ///< where the engine answers GET /live
};

struct ParentOptions {
  std::string binary;       ///< the engine; /proc/self/exe is its own program
  std::string config_path;  ///< watched; compared by its SHA-256
  /// The engine's arguments, among them --config; "--restarts N --last-end HOW" come before them.
  std::vector<std::string> arguments;
  ParentPolicy policy = {};
  /// The engine's own checks of the file as it is now, without starting anything.
  std::function<Result<ParentFacts>()> check;
};

class EngineParent {
 public:
  EngineParent(ParentOptions options, const Clock& clock);
  ~EngineParent();

  /// Handles SIGTERM and SIGINT and blocks until the end; gives the exit status: 0 after a drain, 1
  /// when the engine keeps crashing or did not end cleanly. Called once.
  int run();
  /// As a SIGTERM. From run()'s thread.
  void leave();

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace kantha::serve
