#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/net/task.h"

#include <boost/asio/io_context.hpp>

#include "base/net/virtual_time.h"
#include "operator/cluster/cluster_operator.h"
#include "operator/serving/children.h"
#include "tests/fake/api_server/fake_transport.h"

/// An API server in memory, one operator on virtual time, and a kubelet that the test plays.
namespace kantha::cluster {

/// Nodeds that answer what the test says.
class ScriptedDoor final : public PodDoor {
 public:
  net::Task<Result<noded::PodState>> state(PodAddress pod) override {
    ++asked;
    const auto found = states.find(pod.pod.name);
    if (found == states.end()) co_return unavailable("nobody answers");
    co_return found->second;
  }
  net::Task<Status> push_config(PodAddress pod, std::string config) override {
    pushed.emplace_back(pod.pod.name, std::move(config));
    co_return ok_status();
  }

  net::Task<Status> push_fleet(PodAddress pod, std::string view) override {
    fleet.emplace_back(pod.pod.name, std::move(view));
    co_return ok_status();
  }

  std::map<std::string, noded::PodState> states;
  std::vector<std::pair<std::string, std::string>> fleet;  ///< who was told, and what
  std::vector<std::pair<std::string, std::string>> pushed;
  int asked = 0;
};

/// One operator and its transport.
struct OneOperator {
  OneOperator(boost::asio::any_io_executor executor, const Clock& clock,
              fake::FakeApiServer& server, PodDoor& door, OperatorSettings settings,
              ActivatorDoor* activators = nullptr)
      : transport(server, "kantha-operator/test"),
        real(std::move(executor), clock, transport, door, metrics, std::move(settings), 7,
             activators) {}

  MetricRegistry metrics;
  fake::FakeTransport transport;
  ClusterOperator real;
  bool ended = false;
};

inline net::Task<void> live(OneOperator& one) {
  co_await one.real.run();
  one.ended = true;
}

class ClusterFixture : public testing::Test {
 protected:
  ClusterFixture()
      : time_(context_, clock_),
        server_(context_.get_executor(), clock_),
        tasks_(context_.get_executor(), "test") {
    server_.install_model_servings();
    make(kNamespaces, {{"metadata", {{"name", "a"}}}});
    settings_.pods.noded_image = "localhost/noded:1";
    settings_.pods.engine_image = "localhost/engine:1";
    settings_.lease = {"a", "kantha-operator"};
  }
  ~ClusterFixture() override {
    stop_all();
    server_.stop();
    time_.run_for(std::chrono::seconds(60));
  }

  OneOperator& start() {
    operators_.push_back(std::make_unique<OneOperator>(context_.get_executor(), clock_, server_,
                                                       door_, settings_, activators_));
    tasks_.spawn(live(*operators_.back()));
    return *operators_.back();
  }
  /// Ends every operator; SIGTERM, or SIGKILL with `brutally`.
  void stop_all(bool brutally = false) {
    for (const auto& one : operators_) {
      if (brutally) one->transport.close();
      one->real.stop();
    }
    time_.run_for(std::chrono::seconds(40));
    for (const auto& one : operators_) EXPECT_TRUE(one->ended);
    operators_.clear();
  }
  void run_for(Duration span) { time_.run_for(span); }
  void run_seconds(int seconds) { time_.run_for(std::chrono::seconds(seconds)); }

  static Json serving(const std::string& name, int replicas = 1) {
    return {{"apiVersion", "serving.kantha.dev/v1alpha1"},
            {"kind", "ModelServing"},
            {"metadata", {{"name", name}, {"namespace", "a"}}},
            {"spec",
             {{"model", {{"source", {{"hostPath", "/models/m.gguf"}}}}},
              {"replicas", replicas},
              {"drain", {{"timeoutSeconds", 5}}}}}};
  }
  /// Somebody's object of any kind.
  void make(const kube::Resource& resource, Json object) {
    object["apiVersion"] = resource.api_version();
    object["kind"] = resource.kind;
    server_.create(resource, object, "user");
  }
  void apply(const Json& object) { server_.create(kube::kModelServings, object, "user"); }
  void edit(const std::string& name, const std::function<void(Json&)>& change) {
    ASSERT_TRUE(server_.edit(kube::kModelServings, {"a", name}, change, "user"));
  }

  fake::ObjectPtr find(const kube::Resource& resource, const std::string& name) {
    return server_.find(resource, {"a", name});
  }
  std::vector<std::string> names(const kube::Resource& resource) {
    std::vector<std::string> out;
    for (const auto& object : server_.all(resource, "a")) {
      out.push_back(object->at("metadata").at("name").get<std::string>());
    }
    return out;
  }
  /// The kubelet: the pod runs and is ready, its engine runs the image of its spec.
  void make_ready(const std::string& pod) {
    const auto change = [](Json& object) {
      object["spec"]["nodeName"] = "n1";
      Json containers = Json::array();
      for (const Json& container : object["spec"]["containers"]) {
        containers.push_back({{"name", container["name"]},
                              {"image", container["image"]},
                              {"ready", true},
                              {"restartCount", 0},
                              {"state", {{"running", {{"startedAt", "2026-11-30T00:00:00Z"}}}}}});
      }
      object["status"] = {
          {"phase", "Running"},
          {"podIP", "10.0.0.7"},
          {"containerStatuses", containers},
          {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}},
                                      {{"type", "PodScheduled"}, {"status", "True"}}})}};
    };
    ASSERT_TRUE(server_.edit(kube::kPods, {"a", pod}, change, "kubelet", "status"));
  }
  /// The kubelet again: every pod that waits becomes ready, every pod that ends is gone.
  void kubelet() {
    for (const std::string& pod : names(kube::kPods)) {
      const auto object = find(kube::kPods, pod);
      if (object->at("metadata").contains("deletionTimestamp")) {
        server_.remove(kube::kPods, {"a", pod}, "kubelet", 0);
      } else if (!object->contains("status") || !object->at("status").contains("podIP")) {
        make_ready(pod);
      }
    }
  }
  /// Works, with a kubelet and a garbage collector once a second.
  void work_seconds(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      run_seconds(1);
      kubelet();
      server_.collect_garbage();
    }
    run_seconds(1);
    server_.collect_garbage();
    run_seconds(1);
  }

  Json condition(const std::string& name, const std::string& type) {
    const auto object = find(kube::kModelServings, name);
    if (object == nullptr || !object->contains("status")) return Json::object();
    for (const Json& entry : object->at("status").value("conditions", Json::array())) {
      if (entry.at("type") == type) return entry;
    }
    return Json::object();
  }
  std::string condition_status(const std::string& name, const std::string& type) {
    return condition(name, type).value("status", "");
  }

  /// Writes of the operator so far, events and leases left out, as "verb plural/subresource".
  std::vector<std::string> operator_writes() {
    std::vector<std::string> out;
    for (const fake::WriteRecord& write : server_.writes()) {
      if (!write.manager.starts_with("kantha-operator")) continue;
      if (write.plural == "events" || write.plural == "leases") continue;
      out.push_back(write.verb + " " + write.plural +
                    (write.subresource.empty() ? "" : "/" + write.subresource));
    }
    return out;
  }
  std::size_t write_count() { return operator_writes().size(); }

  static constexpr kube::Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};

  boost::asio::io_context context_{1};
  FakeClock clock_;
  net::VirtualTime time_;
  fake::FakeApiServer server_;
  net::TaskGroup tasks_;
  ScriptedDoor door_;
  ActivatorDoor* activators_ = nullptr;
  OperatorSettings settings_;
  std::vector<std::unique_ptr<OneOperator>> operators_;
};

}  // namespace kantha::cluster
