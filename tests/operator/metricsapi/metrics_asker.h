#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "base/net/task.h"

#include <boost/asio/io_context.hpp>

#include "base/net/http_client.h"
#include "tests/operator/metricsapi/served_metrics.h"

/// Asks the metrics API on loopback: as the front proxy, as somebody else, with a token.
namespace kantha::metricsapi {

class MetricsAsker : public testing::Test {
 protected:
  explicit MetricsAsker(bool has_external = false) : served_(context_, has_external) {
    add("m-0", 0.85);
  }

  void add(const std::string& name, double pressure, Duration age = {},
           const std::string& serving = "m", const std::string& space = "a") {
    served_.add(name, pressure, age, serving, space);
  }
  void run(Duration span) { served_.run(span); }

  static net::Task<void> call(net::HttpClient& client, net::Endpoint to, net::HttpRequest request,
                              std::optional<Result<net::HttpResponse>>& answer) {
    answer.emplace(
        co_await client.call(std::move(to), std::move(request), std::chrono::seconds(10)));
  }
  net::HttpResponse exchange(net::HttpClient& client, net::HttpRequest request) {
    std::optional<Result<net::HttpResponse>> answer;
    tasks_.spawn(call(client, served_.endpoint, std::move(request), answer));
    for (int i = 0; i < 1000 && !answer; ++i) run(std::chrono::milliseconds(10));
    if (answer && answer->ok()) return **answer;
    ADD_FAILURE() << (answer ? answer->error().to_string() : "no answer");
    return {};
  }
  /// As the front proxy of the API server, for the HPA controller.
  net::HttpResponse get(const std::string& target, net::Headers headers = {}) {
    return as(served_.front_ca.issue("front-proxy-client", "DNS:front"), target,
              std::move(headers));
  }
  net::HttpResponse as(const net::TestIdentity& identity, const std::string& target,
                       net::Headers headers = {}, const std::string& method = "GET") {
    net::HttpClient client(context_.get_executor());
    client.set_tls(served_.tls(identity));
    net::HttpRequest request{.method = method, .target = target, .headers = std::move(headers)};
    request.headers.add("X-Remote-User", "hpa");
    request.headers.add("X-Remote-Group", "controllers");
    return exchange(client, request);
  }
  Json get_json(const std::string& target, net::Headers headers = {}) {
    const net::HttpResponse answer = get(target, std::move(headers));
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.headers.find("Content-Type"), "application/json");
    return answer.status == 200 ? Json::parse(answer.body) : Json::object();
  }

  boost::asio::io_context context_{1};
  ServedMetrics served_;
  FakeReviews& reviews_ = served_.reviews;
  MetricTable& table_ = served_.table;
  net::TestAuthority& front_ca_ = served_.front_ca;
  net::TaskGroup tasks_{context_.get_executor(), "test"};
};

}  // namespace kantha::metricsapi
