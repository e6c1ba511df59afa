#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/net/http_client.h"
#include "base/net/task.h"
#include "noded/api/golden_state.h"
#include "noded/engine/engine_keeper.h"

/// Asks every new engine process the golden prompts, once it is ready and before anything else is
/// known of it. One executor.
///
/// The file is read anew for each engine: it is mounted, and may be edited. An engine that cannot
/// be asked within the set's time counts as one whose answer differs. An engine that ends meanwhile
/// is asked nothing more; the next one is.
namespace kantha::noded {

class GoldenRun {
 public:
  /// Without a path there is nothing to ask and no state.
  GoldenRun(std::string path, std::string model, EngineKeeper& keeper, net::HttpClient& client)
      : path_(std::move(path)), model_(std::move(model)), keeper_(keeper), client_(client) {}

  std::optional<GoldenState> state() const;
  /// Until `ended` says so; looks ten times a second for an engine that was not asked yet.
  net::Task<void> run(std::function<bool()> ended);

 private:
  /// Whom the prompts were asked: a process and the configuration that it runs with.
  struct Engine {
    EngineProcess process;
    std::string config_hash;
    bool operator==(const Engine&) const = default;
  };
  /// nullopt while none is ready.
  std::optional<Engine> engine() const;
  net::Task<void> ask_all(Engine engine);
  void note_failure(const std::string& what);

  std::string path_;
  std::string model_;
  EngineKeeper& keeper_;
  net::HttpClient& client_;
  std::optional<Engine> asked_;  ///< whom state_ is about
  GoldenState state_;
};

}  // namespace kantha::noded
