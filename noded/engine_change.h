#pragma once

#include <optional>
#include <string>

#include "base/net/task_group.h"
#include "noded/engine/engine_keeper.h"
#include "noded/gateway/forwarder.h"

/// Replaces the engine process under a door that stays open: hold new requests → let running ones
/// finish for a second → take streams back that can go on at the next engine → let the others
/// finish within the drain timeout → write the new configuration, or ask for a new process → let
/// requests go again once an engine is ready. What is asked for while one change is under way comes
/// after it; of several configurations only the last one is written. One executor.
namespace kantha::noded {

class EngineChange {
 public:
  EngineChange(boost::asio::any_io_executor executor, EngineKeeper& keeper, Forwarder& forwarder,
               std::string config_path, Duration drain_timeout);

  /// A new process with the configuration file as it is then.
  void restart();
  /// A new configuration; checked by the caller (config_file.h). False when the engine was told the
  /// same before and nothing else is under way.
  bool configure(std::string text);
  /// Lets go of what is held and changes nothing any more: the pod leaves.
  void abandon();

  /// SHA-256 of the configuration that this pod was told last.
  const std::string& told_hash() const { return told_hash_; }
  void set_told_hash(std::string hash) { told_hash_ = std::move(hash); }
  /// Why the last change came to nothing; empty when it did not.
  const std::string& error() const { return error_; }
  void set_error(std::string error) { error_ = std::move(error); }
  bool under_way() const { return under_way_; }

 private:
  void begin();
  net::Task<void> run();
  net::Task<void> change();

  EngineKeeper& keeper_;
  Forwarder& forwarder_;
  std::string config_path_;
  Duration drain_timeout_;
  std::optional<std::string> next_text_;
  bool restart_wanted_ = false;
  bool under_way_ = false;
  bool abandoned_ = false;
  std::string told_hash_;
  std::string error_;
  net::TaskGroup tasks_;
};

}  // namespace kantha::noded
