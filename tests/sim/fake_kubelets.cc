#include "tests/sim/fake_kubelets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/digest.h"

namespace kantha::sim {
namespace {

constexpr const char* kKubelet = "kubelet";
constexpr const char* kConfigAnnotation = "serving.kantha.dev/engine-config";

std::string node_name(int index) { return fmt::format("node-{}", index); }

const Json& engine_container(const Json& pod) {
  static const Json none = Json::object();
  for (const Json& container : pod.at("spec").at("containers")) {
    if (container.value("name", "") == "engine") return container;
  }
  return none;
}

int accelerators_of(const Json& pod) {
  const Json resources = engine_container(pod).value("resources", Json::object());
  for (const auto& [name, amount] : resources.value("limits", Json::object()).items()) {
    if (name.find('/') == std::string::npos) continue;
    return amount.is_string() ? std::atoi(amount.get<std::string>().c_str()) : amount.get<int>();
  }
  return 0;
}

void set_condition(Json& status, const std::string& type, bool is_true, const std::string& now,
                   const std::string& reason = {}, const std::string& message = {}) {
  Json condition = {{"type", type}, {"status", is_true ? "True" : "False"}};
  if (!reason.empty()) condition["reason"] = reason;
  if (!message.empty()) condition["message"] = message;
  condition["lastTransitionTime"] = now;
  Json& conditions = status["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  for (Json& old : conditions) {
    if (old["type"] != type) continue;
    if (old["status"] == condition["status"]) {
      condition["lastTransitionTime"] = old["lastTransitionTime"];
    }
    old = condition;
    return;
  }
  conditions.push_back(condition);
}

}  // namespace

std::string told_config(const Json& pod) {
  const Json annotations = pod.at("metadata").value("annotations", Json::object());
  return annotations.value(kConfigAnnotation, "");
}

FakeKubelets::FakeKubelets(boost::asio::any_io_executor executor, fake::FakeApiServer& server,
                           KubeletTimes times, NodeShape shape)
    : server_(server), times_(times), shape_(shape), wake_(std::move(executor)) {
  server_.store().on_change(
      [this](const fake::Table& table, const fake::Change& change, const fake::WriteRecord&) {
        if (table.kind.plural == "pods") pod_changed(change);
      });
}

net::Task<void> FakeKubelets::run() {
  while (!is_stopped_) {
    const TimePoint now = server_.store().clock().now();
    while (!agenda_.empty() && agenda_.begin()->first.first <= now) {
      const auto step = std::move(agenda_.begin()->second);
      agenda_.erase(agenda_.begin());
      step();
    }
    const Duration wait =
        agenda_.empty() ? Duration(std::chrono::hours(24)) : agenda_.begin()->first.first - now;
    co_await wake_.wait(wait);
  }
}

void FakeKubelets::stop() {
  is_stopped_ = true;
  wake_.notify();
}

void FakeKubelets::after(Duration delay, const std::string& uid,
                         std::function<void(FakePod&)> step) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  const std::uint64_t epoch = found->second.epoch;
  const TimePoint due = server_.store().clock().now() + delay;
  agenda_.emplace(std::pair(due, agenda_count_++), [this, uid, epoch, step = std::move(step)] {
    const auto pod = pods_.find(uid);
    if (pod == pods_.end() || pod->second.epoch != epoch) return;
    if (is_lost(pod->second)) {
      after(std::chrono::seconds(5), uid, step);  // the node does it when it is back
    } else {
      step(pod->second);
    }
  });
  wake_.notify();
}

void FakeKubelets::pod_changed(const fake::Change& change) {
  const Json& shown = *change.shown;
  const Json& metadata = shown.at("metadata");
  const std::string uid = metadata.at("uid");
  if (change.after == nullptr) {
    const auto gone = pods_.find(uid);
    if (gone == pods_.end()) return;
    if (!gone->second.node.empty()) --node_counts_[gone->second.node];
    by_ip_.erase(gone->second.ip);
    pods_.erase(gone);
    return;
  }
  if (change.before == nullptr) {
    FakePod& pod = pods_[uid];
    pod.key = {metadata.at("namespace"), metadata.at("name")};
    pod.uid = uid;
    pod.pulls_only =
        metadata.value("labels", Json::object()).value("serving.kantha.dev/role", "") == "pull";
    after(times_.schedule, uid, [this](FakePod& made) { bind(made); });
    return;
  }
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  FakePod& pod = found->second;
  const bool was_marked = change.before->at("metadata").contains("deletionTimestamp");
  if (metadata.contains("deletionTimestamp") && !was_marked) {
    terminate(pod, metadata.value("deletionGracePeriodSeconds", 30));
    return;
  }
  const std::string image = engine_container(shown).value("image", "");
  if (pod.started && !pod.draining && image != pod.image && pod.waiting.empty()) {
    // The kubelet ends the container, pulls, and starts it again.
    ++pod.epoch;
    pod.engine_running = pod.engine_ready = false;
    pod.waiting = "ContainerCreating";
    after(times_.restart, uid, [this](FakePod& changed) { pull(changed); });
  }
}

std::optional<std::string> FakeKubelets::pick_node(const Json& pod) const {
  std::optional<std::string> best;
  int best_count = shape_.pods_each;
  const int wanted = accelerators_of(pod);
  for (int i = 0; i < shape_.nodes; ++i) {
    const std::string name = node_name(i);
    if (lost_.contains(name)) continue;
    const auto counted = node_counts_.find(name);
    const int count = counted == node_counts_.end() ? 0 : counted->second;
    int used = 0;
    for (const auto& [uid, other] : pods_) {
      if (wanted == 0) break;
      if (other.node != name) continue;
      if (const auto object = server_.find(kube::kPods, other.key)) {
        used += accelerators_of(*object);
      }
    }
    if (count < best_count && used + wanted <= shape_.accelerators_each) {
      best = name;
      best_count = count;
    }
  }
  return best;
}

void FakeKubelets::bind(FakePod& pod) {
  const auto object = server_.find(kube::kPods, pod.key);
  if (object == nullptr) return;
  const std::string given = (*object)["spec"].value("nodeName", "");
  const std::optional<std::string> node = given.empty() ? pick_node(*object) : std::optional(given);
  if (!node) {
    pod.unschedulable = fmt::format("0/{} nodes are available: {} Insufficient capacity.",
                                    shape_.nodes, shape_.nodes);
    write_status(pod);
    after(std::chrono::seconds(5), pod.uid, [this](FakePod& again) { bind(again); });
    return;
  }
  pod.unschedulable.clear();
  pod.node = *node;
  ++node_counts_[*node];
  pod.waiting = "ContainerCreating";
  server_.edit(
      kube::kPods, pod.key, [&](Json& edited) { edited["spec"]["nodeName"] = *node; },
      "kube-scheduler");
  write_status(pod);
  after(times_.pull, pod.uid, [this](FakePod& bound) { pull(bound); });
}

ImageBehaviour FakeKubelets::behaviour_of(const std::string& image) const {
  const auto found = images_.find(image);
  return found == images_.end() ? ImageBehaviour{} : found->second;
}

void FakeKubelets::pull(FakePod& pod) {
  const auto object = server_.find(kube::kPods, pod.key);
  if (object == nullptr) return;
  const std::string image = engine_container(*object).value("image", "");
  if (!behaviour_of(image).pulls) {
    const bool again = pod.waiting == "ErrImagePull" || pod.waiting == "ImagePullBackOff";
    pod.waiting = again ? "ImagePullBackOff" : "ErrImagePull";
    write_status(pod);
    after(times_.pull_retry, pod.uid, [this](FakePod& waiting) { pull(waiting); });
    return;
  }
  pod.waiting.clear();
  pod.image = image;
  on_nodes_[image].insert(pod.node);
  start(pod);
}

void FakeKubelets::start(FakePod& pod) {
  if (!pod.started) {
    const auto object = server_.find(kube::kPods, pod.key);
    pod.started = true;
    if (pod.pulls_only) return write_status(pod);
    pod.config = told_config(*object);
    ++ip_count_;
    pod.ip = fmt::format("10.{}.{}.{}", ip_count_ / 62'500 + 1, ip_count_ / 250 % 250,
                         ip_count_ % 250 + 1);
    by_ip_[pod.ip] = pod.uid;
  } else {
    ++pod.restarts;
  }
  run_engine(pod, times_.load);
}

void FakeKubelets::run_engine(FakePod& pod, Duration delay) {
  ++pod.epoch;
  pod.engine_running = true;
  pod.engine_ready = false;
  pod.run_config = pod.config;
  write_status(pod);
  const ImageBehaviour behaviour = behaviour_of(pod.image);
  if (behaviour.never_ready) return;
  if (behaviour.crashes) {
    after(times_.crash, pod.uid, [this](FakePod& crashed) { engine_died(crashed); });
    return;
  }
  after(delay, pod.uid, [this](FakePod& loaded) {
    loaded.engine_ready = true;
    loaded.crashes = 0;
    write_status(loaded);
  });
}

void FakeKubelets::engine_died(FakePod& pod) {
  ++pod.epoch;
  ++pod.crashes;
  pod.engine_running = pod.engine_ready = false;
  pod.waiting = pod.crashes == 1 ? "" : "CrashLoopBackOff";
  write_status(pod);
  const int doublings = std::min(pod.crashes - 1, 10);
  const Duration backoff = pod.crashes == 1
                               ? Duration(std::chrono::milliseconds(100))
                               : std::min<Duration>(std::chrono::seconds(5) * (1 << doublings),
                                                    times_.crash_backoff_max);
  after(backoff, pod.uid, [this](FakePod& back) { pull(back); });
}

void FakeKubelets::crash_engine(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second.draining) return;
  if (found->second.engine_running) engine_died(found->second);
}

void FakeKubelets::push_config(const std::string& uid, const std::string& config) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second.config == config) return;
  FakePod& pod = found->second;
  pod.config = config;
  if (pod.draining || !pod.engine_running) return;
  after(times_.drain, uid, [this](FakePod& drained) { run_engine(drained, times_.load); });
}

void FakeKubelets::terminate(FakePod& pod, std::int64_t grace) {
  ++pod.epoch;
  pod.draining = true;
  if (!is_lost(pod)) write_status(pod);
  const Duration drain = pod.engine_ready
                             ? std::min<Duration>(times_.drain, std::chrono::seconds(grace))
                             : Duration(std::chrono::milliseconds(100));
  after(drain, pod.uid,
        [this](FakePod& drained) { server_.remove(kube::kPods, drained.key, kKubelet, 0); });
}

void FakeKubelets::set_image(const std::string& image, ImageBehaviour behaviour) {
  images_[image] = behaviour;
}

void FakeKubelets::lose_node(int index) {
  lost_.insert(node_name(index));
  for (auto& [uid, pod] : pods_) {
    if (pod.node == node_name(index)) write_status(pod);
  }
}

void FakeKubelets::restore_node(int index) {
  lost_.erase(node_name(index));
  for (auto& [uid, pod] : pods_) {
    if (pod.node == node_name(index)) write_status(pod);
  }
}

const FakePod* FakeKubelets::reach(const std::string& pod_ip) const {
  const auto uid = by_ip_.find(pod_ip);
  const FakePod* pod = uid == by_ip_.end() ? nullptr : find(uid->second);
  return pod != nullptr && pod->answers() && !is_lost(*pod) ? pod : nullptr;
}

const FakePod* FakeKubelets::find(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

noded::PodState FakeKubelets::state_of(const FakePod& pod) const {
  noded::PodState state;
  state.pod = pod.key.name;
  state.phase = pod.draining       ? noded::EnginePhase::kDraining
                : pod.engine_ready ? noded::EnginePhase::kReady
                                   : noded::EnginePhase::kStarting;
  if (pod.engine_running) state.config_hash = sha256_hex(pod.run_config);
  state.engine_restarts = pod.restarts;
  return state;
}

void FakeKubelets::write_status(FakePod& pod) {
  server_.edit(
      kube::kPods, pod.key,
      [&](Json& object) {
        Json status = status_json(pod);
        const std::string now = server_.store().time_text();
        const Json old = object.value("status", Json::object());
        if (old.contains("conditions")) status["conditions"] = old["conditions"];
        const bool ready = pod.is_serving() && pod.engine_running && !is_lost(pod);
        if (!pod.unschedulable.empty()) {
          set_condition(status, "PodScheduled", false, now, "Unschedulable", pod.unschedulable);
        } else {
          set_condition(status, "PodScheduled", true, now);
          set_condition(status, "Initialized", true, now);
          set_condition(status, "ContainersReady", ready, now);
          set_condition(status, "Ready", ready, now);
        }
        object["status"] = std::move(status);
      },
      kKubelet, "status");
}

Json FakeKubelets::status_json(const FakePod& pod) const {
  Json status = {{"phase", pod.started ? "Running" : "Pending"}, {"qosClass", "Burstable"}};
  if (pod.node.empty()) return status;
  const std::string image_id = behaviour_of(pod.image).image_id;
  if (pod.started) {
    status["podIP"] = pod.ip;
    status["podIPs"] = Json::array({{{"ip", pod.ip}}});
  }
  Json noded = {{"name", "noded"}, {"image", "noded"}, {"imageID", ""}, {"restartCount", 0}};
  Json engine = {{"name", "engine"},
                 {"image", pod.image},
                 {"imageID", pod.image.empty()  ? ""
                             : image_id.empty() ? "sha256:" + sha256_hex(pod.image)
                                                : image_id},
                 {"restartCount", pod.restarts + pod.crashes}};
  noded["ready"] = pod.is_serving();
  noded["state"] = pod.started ? Json{{"running", Json::object()}}
                               : Json{{"waiting", {{"reason", "ContainerCreating"}}}};
  engine["ready"] = pod.engine_running;
  if (pod.engine_running) {
    engine["state"] = {{"running", Json::object()}};
  } else if (!pod.waiting.empty()) {
    engine["state"] = {{"waiting", {{"reason", pod.waiting}}}};
  } else {
    engine["state"] = {{"terminated", {{"exitCode", 1}, {"reason", "Error"}}}};
  }
  if (pod.crashes > 0) {
    engine["lastState"] = {{"terminated", {{"exitCode", 1}, {"reason", "Error"}}}};
  }
  if (pod.pulls_only) {
    if (pod.started) status["phase"] = "Succeeded";
    if (pod.started) engine["state"] = {{"terminated", {{"exitCode", 0}, {"reason", "Completed"}}}};
    status["containerStatuses"] = Json::array({engine});
    return status;
  }
  status["containerStatuses"] = {noded, engine};
  return status;
}

}  // namespace kantha::sim
