#include <gtest/gtest.h>

#include "operator/metricsapi/discovery.h"
#include "tests/operator/metricsapi/metrics_asker.h"

/// external.metrics.k8s.io, over TLS on loopback.
namespace kantha::metricsapi {
namespace {

using namespace std::chrono_literals;

constexpr const char* kGroupPath = "/apis/external.metrics.k8s.io/v1beta1";
constexpr const char* kMetrics = "/apis/external.metrics.k8s.io/v1beta1/namespaces/a/";
constexpr const char* kOfM = "?labelSelector=serving.kantha.dev%2Fname%3Dm";
constexpr const char* kAggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

class ExternalMetricsTest : public MetricsAsker {
 protected:
  ExternalMetricsTest() : MetricsAsker(true) {}

  Json items(const std::string& metric, const std::string& query = kOfM) {
    return get_json(kMetrics + metric + query).value("items", Json());
  }
};

TEST_F(ExternalMetricsTest, AValueIsTheSumOverTheSelectedModelServingsPods) {
  add("m-1", 1.5);
  add("n-0", 9, 0s, "n");
  add("m-0", 9, 0s, "m", "other-namespace");
  const Json list = get_json(std::string(kMetrics) + "kv_pressure" + kOfM);
  EXPECT_EQ(list.at("kind"), "ExternalMetricValueList");
  EXPECT_EQ(list.at("apiVersion"), "external.metrics.k8s.io/v1beta1");
  EXPECT_EQ(list.at("metadata"), Json::object());
  ASSERT_EQ(list.at("items").size(), 1U);
  Json item = list.at("items")[0];
  EXPECT_EQ(item.at("timestamp").get<std::string>().size(), 20U) << item;
  item.erase("timestamp");
  EXPECT_EQ(item, Json::parse(R"({"metricName": "kv_pressure", "value": "2350m",
      "metricLabels": {"serving.kantha.dev/name": "m"}})"));
}

TEST_F(ExternalMetricsTest, EveryMetricIsThereAndWithoutASelectorEveryModelServing) {
  add("n-0", 0.5, 0s, "n");
  const std::pair<const char*, const char*> values[] = {{"kv_pressure", "850m"},
                                                        {"queued_tokens", "700"},
                                                        {"running_requests", "3"},
                                                        {"tokens_per_second", "12500m"}};
  for (const auto& [metric, value] : values) {
    EXPECT_EQ(items(metric).at(0).at("value"), value) << metric;
    EXPECT_EQ(items(metric, "").size(), 2U) << metric;
  }
}

TEST_F(ExternalMetricsTest, AFleetInWhichAPodFellSilentHasNoValueSoThatItsCountStays) {
  add("m-1", 0.85, 31s);
  add("n-0", 0.5, 0s, "n");
  EXPECT_EQ(items("kv_pressure"), Json::array()) << "the sum of the others is no sum";
  EXPECT_EQ(items("kv_pressure", "").size(), 1U) << "another fleet's is there";
  add("m-1", 0.85, 29s);
  EXPECT_EQ(items("kv_pressure").at(0).at("value"), "1700m");
  // A pod that loads has never said anything.
  table_.put("a", "a/m-2", {"m-2", "m", {}, {}});
  EXPECT_EQ(items("kv_pressure").at(0).at("value"), "1700m");
  table_.remove("a", "a/m-0");
  table_.remove("a", "a/m-1");
  EXPECT_EQ(items("kv_pressure"), Json::array()) << "nor is nothing zero";
}

TEST_F(ExternalMetricsTest, TheTimeIsThatOfTheOldestSample) {
  const Json young = items("kv_pressure").at(0).at("timestamp");
  add("m-1", 0.85, 20s);
  EXPECT_LT(items("kv_pressure").at(0).at("timestamp"), young);
}

TEST_F(ExternalMetricsTest, WhatIsNotThereIsAStatus404AndABadSelector400) {
  const std::pair<std::string, int> table[] = {
      {std::string(kMetrics) + "no_such_metric", 404},
      {"/apis/external.metrics.k8s.io/v1beta2/namespaces/a/kv_pressure", 404},
      {"/apis/external.metrics.k8s.io/v1beta1/namespaces/a/pods/m-0/kv_pressure", 404},
      {"/apis/external.metrics.k8s.io/v1beta1/namespaces//kv_pressure", 404},
      {std::string(kMetrics) + "kv_pressure?labelSelector=%3D%3D", 400}};
  for (const auto& [target, status] : table) {
    const net::HttpResponse answer = get(target);
    EXPECT_EQ(answer.status, status) << target;
    EXPECT_EQ(Json::parse(answer.body).at("kind"), "Status");
  }
}

TEST_F(ExternalMetricsTest, AnAccessIsAListOfTheMetricAsTheApiServerWouldNameIt) {
  items("kv_pressure");
  EXPECT_EQ(reviews_.last_access.at("resourceAttributes"),
            Json::parse(R"({"namespace": "a", "verb": "list", "version": "v1beta1",
              "group": "external.metrics.k8s.io", "resource": "kv_pressure"})"));
  reviews_.allows = false;
  const net::HttpResponse answer = get(std::string(kMetrics) + "queued_tokens");
  EXPECT_EQ(answer.status, 403);
  EXPECT_NE(answer.body.find("queued_tokens.external.metrics.k8s.io"), std::string::npos);
  reviews_.is_up = false;
  EXPECT_EQ(get(std::string(kMetrics) + "running_requests").status, 500) << "unknown is denied";
  EXPECT_EQ(as({}, std::string(kMetrics) + "kv_pressure").status, 401);
}

TEST_F(ExternalMetricsTest, DiscoveryNamesBothGroups) {
  EXPECT_EQ(get_json("/apis").at("groups").size(), 2U);
  const Json group = get_json("/apis/external.metrics.k8s.io");
  EXPECT_EQ(group.at("preferredVersion").at("groupVersion"), "external.metrics.k8s.io/v1beta1");
  const Json list = get_json(kGroupPath);
  EXPECT_EQ(list.at("groupVersion"), "external.metrics.k8s.io/v1beta1");
  ASSERT_EQ(list.at("resources").size(), 4U);
  EXPECT_EQ(list.at("resources")[0], Json::parse(R"({"name": "kv_pressure", "singularName": "",
      "namespaced": true, "kind": "ExternalMetricValueList", "verbs": ["get"]})"));
  const Json both = Json::parse(get("/apis", {{"Accept", kAggregated}}).body);
  ASSERT_EQ(both.at("items").size(), 2U);
  EXPECT_EQ(both.at("items")[0].at("metadata").at("name"), "custom.metrics.k8s.io");
  const Json external = both.at("items")[1];
  EXPECT_EQ(external.at("metadata").at("name"), "external.metrics.k8s.io");
  for (const Json& resource : external.at("versions")[0].at("resources")) {
    EXPECT_EQ(resource.at("responseKind").at("kind"), "ExternalMetricValueList") << resource;
    EXPECT_EQ(resource.at("scope"), "Namespaced");
  }
}

TEST_F(ExternalMetricsTest, TheAggregatorsProbeNeedsNoReview) {
  reviews_.is_up = false;
  EXPECT_EQ(get(kGroupPath, {{"X-Remote-Group", "system:masters"}}).status, 200);
}

using WithoutExternalMetrics = MetricsAsker;

TEST_F(WithoutExternalMetrics, TheGroupIsNotThere) {
  EXPECT_EQ(get_json("/apis").at("groups").size(), 1U);
  for (const char* path : {"/apis/external.metrics.k8s.io", kGroupPath}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
  EXPECT_EQ(get(std::string(kMetrics) + "kv_pressure").status, 404);
  const Json one = Json::parse(get("/apis", {{"Accept", kAggregated}}).body);
  EXPECT_EQ(one.at("items").size(), 1U);
}

}  // namespace
}  // namespace kantha::metricsapi
