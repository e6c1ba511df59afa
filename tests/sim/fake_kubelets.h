#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/net/task_group.h"
#include "noded/api/pod_state.h"
#include "tests/fake/api_server/fake_api_server.h"

/// The scheduler, the kubelets and what runs in their pods (a noded and an engine each), as far as
/// the operator can notice: pods are bound, images pulled, engines load, crash, restart in place,
/// drain and go; nodes get lost and come back. One executor; works on virtual time.
namespace kantha::sim {

struct KubeletTimes {
  Duration schedule = std::chrono::milliseconds(50);
  Duration pull = std::chrono::milliseconds(400);
  Duration load = std::chrono::seconds(3);            ///< engine start → ready
  Duration restart = std::chrono::milliseconds(500);  ///< engine container, after a new image
  Duration drain = std::chrono::seconds(2);           ///< streams end within this
  Duration crash = std::chrono::seconds(1);           ///< start → crash of an image that crashes
  Duration crash_backoff_max = std::chrono::seconds(300);
  Duration pull_retry = std::chrono::seconds(10);
};

struct NodeShape {
  int nodes = 3;
  int pods_each = 1000;
  int accelerators_each = 8;
};

/// How an engine image behaves.
struct ImageBehaviour {
  bool pulls = true;
  bool crashes = false;
  bool never_ready = false;
  std::string image_id = {};  ///< as kubelets report it; empty: of one that was loaded by hand
};

/// One pod as its kubelet knows it.
struct FakePod {
  kube::ObjectKey key;
  std::string uid;
  std::string node;  ///< empty: not bound
  std::string ip;
  std::string unschedulable;  ///< why, for people
  std::string waiting;        ///< reason of the engine container: "ImagePullBackOff"
  bool pulls_only = false;    ///< it brings an image to its node and ends
  bool started = false;       ///< its containers were started once
  bool engine_running = false;
  bool engine_ready = false;
  bool draining = false;
  std::string image;       ///< that the engine container runs
  std::string config;      ///< engine.json that noded holds
  std::string run_config;  ///< engine.json that the engine read
  std::int64_t restarts = 0;
  int crashes = 0;
  std::uint64_t epoch = 0;  ///< what was planned for an earlier one no longer counts

  bool answers() const { return started && !node.empty(); }
  bool is_serving() const { return engine_ready && !draining; }
};

/// The engine.json that a pod was told (its annotation); "" when it has none.
std::string told_config(const Json& pod);

class FakeKubelets {
 public:
  FakeKubelets(boost::asio::any_io_executor executor, fake::FakeApiServer& server,
               KubeletTimes times = {}, NodeShape shape = {});

  net::Task<void> run();
  void stop();

  void set_image(const std::string& image, ImageBehaviour behaviour);
  /// The node stops answering: its pods' Ready goes False, and what it was told waits.
  void lose_node(int index);
  void restore_node(int index);
  /// Nodes that have pulled an image.
  const std::set<std::string>& nodes_with(const std::string& image) { return on_nodes_[image]; }
  /// The engine process of a pod dies now; it comes back as after a crash.
  void crash_engine(const std::string& uid);
  KubeletTimes& times() { return times_; }

  /// nullptr: there is none (or its node is lost).
  const FakePod* reach(const std::string& pod_ip) const;
  const FakePod* find(const std::string& uid) const;
  noded::PodState state_of(const FakePod& pod) const;
  /// noded takes a config: streams drain, the engine restarts with it.
  void push_config(const std::string& uid, const std::string& config);

 private:
  void pod_changed(const fake::Change& change);
  void after(Duration delay, const std::string& uid, std::function<void(FakePod&)> step);
  void bind(FakePod& pod);
  void pull(FakePod& pod);
  void start(FakePod& pod);
  void run_engine(FakePod& pod, Duration delay);
  void engine_died(FakePod& pod);
  void terminate(FakePod& pod, std::int64_t grace);
  void write_status(FakePod& pod);
  Json status_json(const FakePod& pod) const;
  ImageBehaviour behaviour_of(const std::string& image) const;
  bool is_lost(const FakePod& pod) const { return lost_.contains(pod.node); }
  std::optional<std::string> pick_node(const Json& pod) const;

  fake::FakeApiServer& server_;
  KubeletTimes times_;
  NodeShape shape_;
  net::Notify wake_;
  std::map<std::string, FakePod> pods_;  ///< by uid
  std::map<std::string, ImageBehaviour> images_;
  std::map<std::string, std::set<std::string>> on_nodes_;  ///< by image
  std::set<std::string> lost_;
  std::map<std::pair<TimePoint, std::uint64_t>, std::function<void()>> agenda_;
  std::uint64_t agenda_count_ = 0;
  std::map<std::string, int> node_counts_;    ///< pods bound to each
  std::map<std::string, std::string> by_ip_;  ///< uids
  std::uint64_t ip_count_ = 0;
  bool is_stopped_ = false;
};

}  // namespace kantha::sim
