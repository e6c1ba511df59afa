#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "base/net/task.h"

#include <boost/asio/io_context.hpp>

#include "base/metrics.h"
#include "base/net/tls_context.h"
#include "operator/kube/api_client.h"
#include "operator/metricsapi/metrics_server.h"
#include "tests/base/net/loopback.h"
#include "tests/base/net/test_certificates.h"

/// The metrics API on loopback, with an API server that answers reviews.
namespace kantha::metricsapi {

/// The API server, as far as a delegate asks it.
class FakeReviews final : public kube::Transport {
 public:
  net::Task<Result<net::HttpResponse>> call(net::HttpRequest request, Duration,
                                            std::size_t) override {
    net::HttpResponse out;
    if (request.target.find("/configmaps/") != std::string::npos) {
      if (!is_up) co_return unavailable("down");
      out.body = dump_json(config_map);
      co_return out;
    }
    ++reviews;
    if (!is_up) co_return unavailable("down");
    Json body = Json::parse(request.body);
    if (request.target.ends_with("/tokenreviews")) {
      const bool is_good = body["spec"]["token"] == "good";
      body["status"] = {{"authenticated", is_good}};
      if (is_good) body["status"]["user"] = {{"username", "owner"}, {"groups", {"g"}}};
    } else {
      last_access = body["spec"];
      body["status"] = {{"allowed", allows}};
    }
    out.status = 201;
    out.body = dump_json(body);
    co_return out;
  }
  net::Task<Result<std::unique_ptr<net::ResponseStream>>> open(net::HttpRequest,
                                                               Duration) override {
    co_return unavailable("no streams here");
  }
  void close() override {}

  Json config_map;
  Json last_access;
  int reviews = 0;
  bool is_up = true;
  bool allows = true;
};

class ServedMetrics {
 public:
  explicit ServedMetrics(boost::asio::io_context& context, bool has_external = false)
      : context_(context) {
    using namespace std::chrono_literals;
    write_identity(serving_ca.issue("kantha", "IP:127.0.0.1"));
    trust(front_ca);
    MetricsServerOptions options;
    options.listen = {"127.0.0.1", 0};
    options.certificate_file = folder_.file("tls.crt");
    options.key_file = folder_.file("tls.key");
    options.has_external = has_external;
    options.look_every = 20ms;
    server_ = std::make_unique<MetricsServer>(context_.get_executor(), system_clock(), client_,
                                              table, options, [this] { return is_ready; });
    endpoint = server_->start().value();
    tasks_.spawn(server_->run());
    run(60ms);
  }
  ~ServedMetrics() {
    server_->stop();
    while (tasks_.running() > 0) run(std::chrono::milliseconds(10));
  }

  void write_identity(const net::TestIdentity& identity) {
    std::ofstream(folder_.file("tls.crt")) << identity.certificate_pem;
    std::ofstream(folder_.file("tls.key")) << identity.key_pem;
  }
  void trust(const net::TestAuthority& front) {
    reviews.config_map = {{"data",
                           {{"requestheader-client-ca-file", front.pem()},
                            {"requestheader-allowed-names", R"(["front-proxy-client"])"},
                            {"requestheader-username-headers", R"(["X-Remote-User"])"},
                            {"requestheader-group-headers", R"(["X-Remote-Group"])"},
                            {"requestheader-extra-headers-prefix", R"(["X-Remote-Extra-"])"}}}};
  }
  void add(const std::string& name, double pressure, Duration age = {},
           const std::string& serving = "m", const std::string& space = "a") {
    PodEntry entry{name, serving, {{"serving.kantha.dev/name", serving}}, Sample{}};
    entry.sample->values = {pressure, 700, 3, 12.5};
    entry.sample->kv_blocks_total = 100;
    entry.sample->taken = system_clock().now() - age;
    table.put(space, space + "/" + name, entry);
  }
  void run(Duration span) {
    context_.restart();
    context_.run_for(span);
  }
  std::shared_ptr<const net::TlsContext> tls(const net::TestIdentity& identity) const {
    return net::TlsContext::for_client({.ca_pem = serving_ca.pem(),
                                        .certificate_pem = identity.certificate_pem,
                                        .key_pem = identity.key_pem})
        .value();
  }

 private:
  boost::asio::io_context& context_;
  net::TempDir folder_;

 public:
  net::TestAuthority serving_ca{"serving"};
  net::TestAuthority front_ca{"front"};
  FakeReviews reviews;
  MetricTable table;
  net::Endpoint endpoint;
  bool is_ready = true;

 private:
  MetricRegistry metrics_;
  kube::RateLimiter limiter_{system_clock(), 0, 1};
  kube::ApiClient client_{reviews, limiter_, metrics_};
  std::unique_ptr<MetricsServer> server_;
  net::TaskGroup tasks_{context_.get_executor(), "served metrics"};
};

}  // namespace kantha::metricsapi
