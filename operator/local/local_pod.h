#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/net/http_client.h"
#include "base/net/task_group.h"
#include "base/process.h"
#include "operator/local/pod_facts.h"
#include "operator/local/restart_backoff.h"
#include "operator/serving/engine_config_json.h"
#include "operator/serving/fleet_plan.h"
#include "operator/serving/types.h"

/// One pod of the local world: a kantha-noded process (which has the engine as its child), its
/// folder, and what it last said. One executor.
namespace kantha::local {

/// What is the same for all pods of a world. References outlive the pods.
struct PodSetting {
  boost::asio::any_io_executor executor;
  net::HttpClient& client;
  net::TaskGroup& tasks;
  const Clock& clock;
  std::string noded_binary;
  std::string default_engine_binary;
  std::string fetch_cache;        ///< where nodeds keep weights that they fetch
  int listen_fd = -1;             ///< the public socket, shared by all
  Duration hung_after{};          ///< a noded that does not answer for so long is killed
  std::function<void()> changed;  ///< called when a fact changed
};

/// What a pod is to run.
struct PodTarget {
  serving::ModelServing serving;
  serving::Revision revision;
  std::string model_path;
  std::string api_keys_path;  ///< empty: no key is asked for
  std::string golden_path;    ///< empty: there are no golden prompts
};

/// Guarantees: a noded that ends is started again with growing pauses (RestartBackoff), unless it
/// was told to drain or to end; one that hangs is killed and so started again; a drain is sent
/// once; destruction kills what still runs.
class LocalPod : public std::enable_shared_from_this<LocalPod> {
 public:
  LocalPod(const PodSetting& setting, std::int64_t ordinal, std::string dir, PodTarget target);

  /// Starts noded and the task that asks for its state. A start that fails is tried again later,
  /// as any end of noded.
  void start();
  /// Writes the new engine.json and tells noded to take it.
  Status restart_engine(PodTarget target);
  /// Takes no new requests; gives up at the deadline.
  void drain(TimePoint deadline);
  /// SIGTERM now, SIGKILL five seconds later.
  void terminate();
  /// SIGKILL now.
  void kill();
  /// Looks after the process; call it often.
  void tick();

  /// It was told to end and its process has ended.
  bool gone() const { return facts_.terminating && !process_; }
  const PodFacts& facts() const { return facts_; }
  const std::string& dir() const { return dir_; }
  /// As the others are told of it; nothing: nobody answers there, or it leaves.
  std::optional<serving::FleetMember> fleet_member() const;
  /// Tells noded which pods may send requests to each other.
  net::Task<Status> tell_fleet(noded::FleetView view);

 private:
  std::string admin_socket() const { return dir_ + "/admin.sock"; }
  std::string peer_socket() const { return dir_ + "/peer.sock"; }
  Status write_config();
  Status spawn_noded();
  void try_to_start();
  ProcessSpec noded_command() const;
  void note_exit(const ProcessExit& exit);
  static net::Task<void> ask_for_state(std::shared_ptr<LocalPod> self);
  static net::Task<void> send_drain(std::shared_ptr<LocalPod> self);
  static net::Task<void> send_restart(std::shared_ptr<LocalPod> self);
  void note_state(Result<noded::PodState> answer, pid_t asked_pid);

  const PodSetting& setting_;
  std::string dir_;
  PodTarget target_;
  PodFacts facts_;
  std::optional<Process> process_;
  RestartBackoff backoff_;
  net::Notify wake_;
  std::optional<TimePoint> silent_since_;  ///< the first of its unanswered questions in a row
  std::optional<TimePoint> kill_at_;
  bool drain_wanted_ = false;    ///< not yet sent, or the sending failed
  bool restart_wanted_ = false;  ///< the same for a new configuration
};

}  // namespace kantha::local
