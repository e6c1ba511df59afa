#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/net/task.h"

#include <boost/asio/io_context.hpp>

#include "base/net/http_client.h"
#include "base/process.h"
#include "cli/blocking_task.h"

/// The fake API server and programs that talk to it, as processes, for tests of whole programs.
namespace kantha {

inline std::string file_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

template <class Condition>
bool reached(Condition condition, Duration patience = std::chrono::seconds(30)) {
  const TimePoint until = system_clock().now() + patience;
  while (!condition()) {
    if (system_clock().now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

/// A folder of its own, programs in it, and one API server.
class ApiServerProcess {
 public:
  ApiServerProcess() {
    root_ = (std::filesystem::temp_directory_path() / ("ka-" + std::to_string(getpid()))).string();
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
    const char* bin = std::getenv("KANTHA_BIN_DIR");
    bin_ = bin == nullptr ? "." : bin;
    write_kubeconfig("127.0.0.1:1");
  }
  ~ApiServerProcess() {
    server_.reset();
    std::filesystem::remove_all(root_);
  }

  const std::string& root() const { return root_; }
  std::string binary(const std::string& name) const { return bin_ + "/" + name; }
  std::string kubeconfig() const { return root_ + "/kubeconfig"; }

  /// Starts it, and points the kubeconfig to it.
  void start() {
    ProcessSpec spec;
    spec.binary = binary("kantha-fake-api-server");
    spec.args = {"127.0.0.1:0"};
    spec.log_path = root_ + "/server.log";
    server_.emplace(Process::spawn(spec).value());
    const std::string said = "listening on ";
    ASSERT_TRUE(reached([&] { return file_text(spec.log_path).find('\n') != std::string::npos; }));
    const std::string log = file_text(spec.log_path);
    address_ = log.substr(said.size(), log.find('\n') - said.size());
    write_kubeconfig(address_);
    ask("POST", "/api/v1/namespaces", {{"metadata", {{"name", "default"}}}});
  }
  void end() { server_.reset(); }

  /// One call by a user; the answer's JSON (null when it is none).
  Json ask(const std::string& method, const std::string& target, const Json& body = nullptr) {
    boost::asio::io_context context(1);
    net::HttpClient client(context.get_executor());
    net::HttpRequest request{method, target, {}, body.is_null() ? "" : dump_json(body)};
    request.headers.set("Content-Type",
                        method == "PATCH" ? "application/merge-patch+json" : "application/json");
    const net::Endpoint endpoint = net::parse_endpoint(address_).value();
    const Result<net::HttpResponse> answer = cli::run_blocking(
        context, client.call(endpoint, std::move(request), std::chrono::seconds(10)));
    if (!answer.ok()) return nullptr;
    const Result<Json> json = parse_json(answer->body);
    return json.ok() ? *json : Json(nullptr);
  }

  void create_serving(const std::string& name, int replicas) {
    ask("POST", "/apis/serving.kantha.dev/v1alpha1/namespaces/default/modelservings",
        {{"apiVersion", "serving.kantha.dev/v1alpha1"},
         {"kind", "ModelServing"},
         {"metadata", {{"name", name}}},
         {"spec",
          {{"model", {{"name", "tiny"}, {"source", {{"hostPath", "/models/m.gguf"}}}}},
           {"replicas", replicas}}}});
  }
  Json serving(const std::string& name) {
    return ask("GET", "/apis/serving.kantha.dev/v1alpha1/namespaces/default/modelservings/" + name);
  }
  Json pod(const std::string& name) {
    return ask("GET", "/api/v1/namespaces/default/pods/" + name);
  }
  /// The kubelet: the pod runs and is ready.
  void make_ready(const std::string& name) {
    Json containers = Json::array();
    for (const char* container : {"noded", "engine"}) {
      containers.push_back({{"name", container},
                            {"ready", true},
                            {"restartCount", 0},
                            {"state", {{"running", Json::object()}}}});
    }
    const Json status = {{"phase", "Running"},
                         {"podIP", "127.0.0.1"},
                         {"containerStatuses", containers},
                         {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}};
    ask("PATCH", "/api/v1/namespaces/default/pods/" + name + "/status", {{"status", status}});
  }

  Process start_operator(std::vector<std::string> more = {}) {
    ProcessSpec spec;
    spec.binary = binary("kantha-operator");
    spec.args = {
        "--kubeconfig",       kubeconfig(), "--noded-image", "localhost/noded:1", "--engine-image",
        "localhost/engine:1", "--listen",   "127.0.0.1:0",   "--transport",       "beast"};
    spec.args.insert(spec.args.end(), more.begin(), more.end());
    spec.log_path = root_ + "/operator.log";
    return Process::spawn(spec).value();
  }
  std::string operator_log() const { return file_text(root_ + "/operator.log"); }

 private:
  void write_kubeconfig(const std::string& address) const {
    std::ofstream(kubeconfig())
        << "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
           "clusters: [{name: c, cluster: {server: \"http://"
        << address
        << "\"}}]\nusers: [{name: u, user: {}}]\n"
           "contexts: [{name: c, context: {cluster: c, user: u, namespace: default}}]\n";
  }

  std::string root_;
  std::string bin_;
  std::string address_ = "127.0.0.1:1";
  std::optional<Process> server_;
};

}  // namespace kantha
