#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/net/task.h"

#include <boost/asio/io_context.hpp>

#include "base/net/http_client.h"
#include "tests/operator/metricsapi/served_metrics.h"

/// How long an HPA waits.
namespace kantha::metricsapi {
namespace {

using namespace std::chrono_literals;

constexpr int kPods = 1000;
constexpr int kAskers = 10;
constexpr int kRounds = 40;

std::string serving_of(int number) { return "m" + std::to_string(number); }

/// One HPA on its kept connection: a question, an answer, and the time between.
net::Task<void> ask(net::HttpClient& client, net::Endpoint to, int number,
                    std::vector<Duration>& took, std::size_t& items) {
  const net::HttpRequest request{
      .target =
          "/apis/custom.metrics.k8s.io/v1beta2/namespaces/a/pods/%2A/kv_pressure"
          "?labelSelector=serving.kantha.dev%2Fname%3D" +
          serving_of(number),
      .headers = {{"X-Remote-User", "hpa"}}};
  const TimePoint begun = system_clock().now();
  const Result<net::HttpResponse> answer = co_await client.call(std::move(to), request, 10s);
  took.push_back(system_clock().now() - begun);
  if (answer.ok() && answer->status == 200) items += Json::parse(answer->body).at("items").size();
}

TEST(MetricsLoad, TenHpasOverAThousandPodsAreAnsweredInTime) {
  boost::asio::io_context context(1);
  ServedMetrics served(context);
  for (int i = 0; i < kPods; ++i) {
    served.add("m-" + std::to_string(i), 0.5, 0s, serving_of(i % kAskers));
  }
  const auto identity = served.front_ca.issue("front-proxy-client", "DNS:front");
  std::vector<std::unique_ptr<net::HttpClient>> clients;
  for (int i = 0; i < kAskers; ++i) {
    clients.push_back(std::make_unique<net::HttpClient>(context.get_executor()));
    clients.back()->set_tls(served.tls(identity));
  }
  std::vector<Duration> took;
  std::size_t items = 0;
  for (int round = 0; round < kRounds; ++round) {
    net::TaskGroup group(context.get_executor(), "askers");
    for (int i = 0; i < kAskers; ++i) {
      group.spawn(ask(*clients[static_cast<std::size_t>(i)], served.endpoint, i, took, items));
    }
    for (int i = 0; i < 2000 && group.running() > 0; ++i) served.run(5ms);
    // The first round shakes hands and asks for reviews; an HPA does that once.
    if (round == 0) took.clear();
  }
  EXPECT_EQ(items, static_cast<std::size_t>(kPods * kRounds));
  std::sort(took.begin(), took.end());
  ASSERT_EQ(took.size(), static_cast<std::size_t>(kAskers * (kRounds - 1)));
  const auto at = [&](double share) {
    const auto index = static_cast<std::size_t>(share * static_cast<double>(took.size() - 1));
    return std::chrono::duration<double, std::milli>(took[index]).count();
  };
  std::printf("metrics API, %d pods, %d HPAs at once: p50 %.1f ms, p99 %.1f ms\n", kPods, kAskers,
              at(0.5), at(0.99));
  // The promise is 50 ms; this bound is for machines that do much else.
  EXPECT_LT(at(0.99), 500);
  clients.clear();
}

}  // namespace
}  // namespace kantha::metricsapi
