#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "operator/metricsapi/discovery.h"
#include "operator/metricsapi/metric_values.h"

/// Bodies as files, byte for byte: tests/cluster/metrics_client_test.py lets Kubernetes' own Go
/// client read the same files. KANTHA_REWRITE_GOLDEN=1 writes them anew; the diff is then for a
/// person to read.
namespace kantha::metricsapi {
namespace {

using namespace std::chrono_literals;

constexpr const char* kAggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

void expect_golden(const std::string& name, const std::string& body) {
  const char* root = std::getenv("KANTHA_SOURCE_DIR");
  const std::string path = std::string(root == nullptr ? "." : root) +
                           "/tests/operator/metricsapi/golden/" + name + ".json";
  const std::string text = Json::parse(body).dump(1) + "\n";
  if (std::getenv("KANTHA_REWRITE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  std::stringstream kept;
  kept << file.rdbuf();
  EXPECT_EQ(text, kept.str()) << name << ": KANTHA_REWRITE_GOLDEN=1 writes it anew";
}

constexpr Instant kAt{TimePoint{1000s}, WallTime{std::chrono::seconds(1'795'996'800)}};

PodEntry pod(const std::string& name, double pressure, Duration age) {
  PodEntry out{name, "m", {{"serving.kantha.dev/name", "m"}}, Sample{}};
  out.sample->values = {pressure, 700, 3, 12.5};
  out.sample->kv_blocks_total = 100;
  out.sample->taken = kAt.now - age;
  return out;
}

std::string metric_body(const std::string& target) {
  MetricTable table;
  table.put("a", "0", pod("m-0", 0.85, 1s));
  table.put("a", "1", pod("m-1", 2, 2s));
  table.put("a", "2", pod("m-2", 9, 31s));  // stale
  const ApiQuery query = parse_api_query(target).value();
  if (query.is_external()) {
    table.remove("a", "2");
    return answer_external(query, table, kAt).body;
  }
  return answer_metric(query, table, kAt).body;
}

std::string discovery_body(const std::string& path, const char* accept, bool external = false) {
  const net::HttpRequest request{.target = path, .headers = {{"Accept", accept}}};
  return answer_discovery(request, path, external).value().body;
}

TEST(GoldenBodies, AreWhatTheGoClientReads) {
  for (const std::string version : {"v1beta1", "v1beta2"}) {
    const std::string group = "/apis/custom.metrics.k8s.io/" + version;
    const std::string space = group + "/namespaces/a/";
    expect_golden("pods." + version, metric_body(space + "pods/%2A/kv_pressure?labelSelector=" +
                                                 "serving.kantha.dev%2Fname%3Dm"));
    expect_golden("serving." + version,
                  metric_body(space + "modelservings.serving.kantha.dev/m/kv_pressure"));
    expect_golden("missing." + version, metric_body(space + "pods/%2A/no_such_metric"));
    expect_golden("none." + version, metric_body(space + "pods/%2A/kv_pressure?labelSelector=x"));
    expect_golden("resources." + version, discovery_body(group, "application/json"));
  }
  expect_golden("groups", discovery_body("/apis", "application/json"));
  expect_golden("group", discovery_body("/apis/custom.metrics.k8s.io", "application/json"));
  expect_golden("aggregated", discovery_body("/apis", kAggregated));
  const std::string external = "/apis/external.metrics.k8s.io/v1beta1";
  expect_golden("external", metric_body(external + "/namespaces/a/kv_pressure?labelSelector=" +
                                        "serving.kantha.dev%2Fname%3Dm"));
  expect_golden("external.none",
                metric_body(external + "/namespaces/a/kv_pressure" + "?labelSelector=x"));
  expect_golden("external.missing", metric_body(external + "/namespaces/a/no_such_metric"));
  expect_golden("external.resources", discovery_body(external, "application/json", true));
  expect_golden("external.aggregated", discovery_body("/apis", kAggregated, true));
}

}  // namespace
}  // namespace kantha::metricsapi
