#include "operator/metricsapi/metrics_server.h"

#include <gtest/gtest.h>

#include "tests/operator/metricsapi/metrics_asker.h"

/// The metrics API as an aggregation layer and an HPA meet it: over TLS, on loopback.
namespace kantha::metricsapi {
namespace {

using namespace std::chrono_literals;
using MetricsServerTest = MetricsAsker;

constexpr const char* kPods = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/a/pods/%2A/";
constexpr const char* kAggregatedAccept =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

TEST_F(MetricsServerTest, APodsMetricIsAListOfSelectedFreshPods) {
  add("m-1", 1.5);
  add("n-0", 9, 0s, "n");
  add("m-0", 9, 0s, "m", "other-namespace");
  const Json list =
      get_json(std::string(kPods) + "kv_pressure?labelSelector=serving.kantha.dev%2Fname%3Dm");
  EXPECT_EQ(list.at("kind"), "MetricValueList");
  EXPECT_EQ(list.at("apiVersion"), "custom.metrics.k8s.io/v1beta2");
  EXPECT_EQ(list.at("metadata"), Json::object());
  ASSERT_EQ(list.at("items").size(), 2U);
  Json first = list.at("items")[0];
  EXPECT_EQ(first.at("timestamp").get<std::string>().size(), 20U) << first;
  first.erase("timestamp");
  EXPECT_EQ(first, Json::parse(R"({"describedObject": {"kind": "Pod", "namespace": "a",
      "name": "m-0", "apiVersion": "v1"}, "metric": {"name": "kv_pressure", "selector": null},
      "value": "850m"})"));
  EXPECT_EQ(list.at("items")[1].at("value"), "1500m");
}

TEST_F(MetricsServerTest, EveryMetricIsThereInBothVersions) {
  const std::pair<const char*, const char*> values[] = {{"kv_pressure", "850m"},
                                                        {"queued_tokens", "700"},
                                                        {"running_requests", "3"},
                                                        {"tokens_per_second", "12500m"}};
  for (const auto& [metric, value] : values) {
    for (const char* version : {"v1beta1", "v1beta2"}) {
      const Json list = get_json(std::string("/apis/custom.metrics.k8s.io/") + version +
                                 "/namespaces/a/pods/*/" + metric);
      ASSERT_EQ(list.at("items").size(), 1U);
      const Json item = list.at("items")[0];
      EXPECT_EQ(item.at("value"), value) << metric;
      const bool is_old = std::string(version) == "v1beta1";
      EXPECT_EQ(is_old ? item.at("metricName") : item.at("metric").at("name"), metric);
      EXPECT_EQ(list.at("apiVersion"), std::string("custom.metrics.k8s.io/") + version);
    }
  }
}

TEST_F(MetricsServerTest, StaleSamplesAndPodsWithoutOneAreNotThere) {
  add("m-0", 0.85, 31s);
  table_.put("a", "loading", {"m-1", "m", {}, {}});
  EXPECT_EQ(get_json(std::string(kPods) + "kv_pressure").at("items"), Json::array());
  add("m-0", 0.85, 29s);
  EXPECT_EQ(get_json(std::string(kPods) + "kv_pressure").at("items").size(), 1U);
}

TEST_F(MetricsServerTest, AnObjectMetricIsExactlyOneItemDemandOverCapacity) {
  add("m-1", 1.15);
  const std::string path =
      "/apis/custom.metrics.k8s.io/v1beta2/namespaces/a/modelservings.serving.kantha.dev/m/";
  const Json list = get_json(path + "kv_pressure");
  ASSERT_EQ(list.at("items").size(), 1U);
  EXPECT_EQ(list.at("items")[0].at("value"), "1");
  EXPECT_EQ(list.at("items")[0].at("describedObject").at("kind"), "ModelServing");
  EXPECT_EQ(get_json(path + "queued_tokens").at("items")[0].at("value"), "1400");
}

TEST_F(MetricsServerTest, WhatIsNotThereIsAStatus404AndABadSelector400) {
  const std::pair<std::string, int> table[] = {
      {std::string(kPods) + "no_such_metric", 404},
      {"/apis/custom.metrics.k8s.io/v1beta2/namespaces/a/pods/m-7/kv_pressure", 404},
      {"/apis/custom.metrics.k8s.io/v1beta2/namespaces/a/nodes/x/kv_pressure", 404},
      {"/apis/custom.metrics.k8s.io/v1beta2/namespaces/a/modelservings.serving.kantha.dev/z/"
       "kv_pressure",
       404},
      {"/apis/custom.metrics.k8s.io/v1beta9", 404},
      {std::string(kPods) + "kv_pressure?labelSelector=%3D%3D", 400},
      {"/apis/%zz", 400}};
  for (const auto& [target, status] : table) {
    const net::HttpResponse answer = get(target);
    EXPECT_EQ(answer.status, status) << target;
    const Json body = Json::parse(answer.body);
    EXPECT_EQ(body.at("kind"), "Status");
    EXPECT_EQ(body.at("code"), status);
    EXPECT_EQ(body.at("reason"), status == 404 ? "NotFound" : "BadRequest");
    EXPECT_EQ(answer.headers.find("Content-Type"), "application/json");
  }
}

TEST_F(MetricsServerTest, ANameInAnotherNamespaceSelectsNothing) {
  EXPECT_EQ(
      get_json("/apis/custom.metrics.k8s.io/v1beta2/namespaces/b/pods/*/kv_pressure").at("items"),
      Json::array());
}

TEST_F(MetricsServerTest, LegacyDiscoveryNamesBothVersionsTheNewOneFirst) {
  const Json groups = get_json("/apis");
  EXPECT_EQ(groups.at("kind"), "APIGroupList");
  EXPECT_EQ(groups.at("groups").size(), 1U);
  const Json group = get_json("/apis/custom.metrics.k8s.io");
  EXPECT_EQ(group.at("kind"), "APIGroup");
  EXPECT_EQ(group.at("preferredVersion").at("version"), "v1beta2");
  for (const char* version : {"v1beta1", "v1beta2"}) {
    const Json list = get_json(std::string("/apis/custom.metrics.k8s.io/") + version);
    EXPECT_EQ(list.at("kind"), "APIResourceList");
    EXPECT_EQ(list.at("resources").size(), 8U);
    EXPECT_EQ(list.at("resources")[0].at("name"), "pods/kv_pressure");
    EXPECT_EQ(list.at("resources")[0].at("namespaced"), true);
    EXPECT_EQ(list.at("resources")[0].at("verbs"), Json::array({"get"}));
  }
}

TEST_F(MetricsServerTest, AggregatedDiscoveryIsGivenToWhoeverAsksForIt) {
  for (const char* version : {"v2", "v2beta1"}) {
    const net::HttpResponse answer =
        get("/apis", {{"Accept", std::string("application/json;g=apidiscovery.k8s.io;v=") +
                                     version + ";as=APIGroupDiscoveryList"}});
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.headers.find("Content-Type"),
              std::string("application/json;g=apidiscovery.k8s.io;v=") + version +
                  ";as=APIGroupDiscoveryList");
    const Json body = Json::parse(answer.body);
    EXPECT_EQ(body.at("apiVersion"), std::string("apidiscovery.k8s.io/") + version);
    ASSERT_EQ(body.at("items").size(), 1U);
    const Json versions = body.at("items")[0].at("versions");
    EXPECT_EQ(versions[0].at("version"), "v1beta2");
    for (const Json& resource : versions[0].at("resources")) {
      EXPECT_TRUE(resource.at("responseKind").at("kind").is_string()) << "null crashes clients";
      EXPECT_EQ(resource.at("subresources").size(), 4U);
    }
  }
  const Json plain = get_json("/apis", {{"Accept", "application/json"}});
  EXPECT_EQ(plain.at("kind"), "APIGroupList");
}

TEST_F(MetricsServerTest, DiscoveryHasETagsThatAreAnswered304) {
  const net::HttpResponse first = get("/apis", {{"Accept", kAggregatedAccept}});
  const std::string tag(first.headers.find("ETag").value_or(""));
  ASSERT_FALSE(tag.empty());
  const net::HttpResponse second =
      get("/apis", {{"Accept", kAggregatedAccept}, {"If-None-Match", tag}});
  EXPECT_EQ(second.status, 304);
  EXPECT_TRUE(second.body.empty());
  EXPECT_EQ(get("/apis", {{"If-None-Match", tag}}).status, 200) << "of another document";
}

TEST_F(MetricsServerTest, AClientThatPrefersProtobufGetsJsonAndOneThatTakesNothingElse406) {
  EXPECT_EQ(get(std::string(kPods) + "kv_pressure",
                {{"Accept", "application/vnd.kubernetes.protobuf,application/json"}})
                .headers.find("Content-Type"),
            "application/json");
  EXPECT_EQ(get(std::string(kPods) + "kv_pressure",
                {{"Accept", "application/vnd.kubernetes.protobuf, */*"}})
                .status,
            200);
  EXPECT_EQ(
      get(std::string(kPods) + "kv_pressure", {{"Accept", "application/vnd.kubernetes.protobuf"}})
          .status,
      406);
}

TEST_F(MetricsServerTest, ForgedHeadersWithoutACertificateAre401) {
  EXPECT_EQ(as({}, std::string(kPods) + "kv_pressure").status, 401);
  EXPECT_EQ(reviews_.reviews, 0);
}

TEST_F(MetricsServerTest, ACertificateOfAnotherAuthorityIs401) {
  const net::TestAuthority other("front");
  const auto forged = other.issue("front-proxy-client", "DNS:front");
  EXPECT_EQ(as(forged, std::string(kPods) + "kv_pressure").status, 401);
}

TEST_F(MetricsServerTest, AnotherNameOfTheSameAuthorityIs401) {
  const auto wrong = front_ca_.issue("somebody", "DNS:front");
  EXPECT_EQ(as(wrong, std::string(kPods) + "kv_pressure").status, 401);
}

TEST_F(MetricsServerTest, AnExpiredCertificateIs401) {
  const auto expired = front_ca_.issue("front-proxy-client", "DNS:front", 0);
  run(1100ms);
  EXPECT_EQ(as(expired, std::string(kPods) + "kv_pressure").status, 401);
}

TEST_F(MetricsServerTest, NobodyIsBelievedWhoIsOfAnExpiredAuthority) {
  const net::TestAuthority expired("front", 0);
  served_.trust(expired);
  run(1200ms);
  const auto front = expired.issue("front-proxy-client", "DNS:front");
  EXPECT_EQ(as(front, std::string(kPods) + "kv_pressure").status, 401);
  served_.trust(front_ca_);
  run(200ms);
  EXPECT_EQ(get(std::string(kPods) + "kv_pressure").status, 200) << "a new one needs no restart";
}

TEST_F(MetricsServerTest, ARotatedAuthorityIsTakenWithoutARestartAndTheOldOneGoes) {
  net::HttpClient kept(context_.get_executor());
  kept.set_tls(served_.tls(front_ca_.issue("front-proxy-client", "DNS:front")));
  const net::HttpRequest request{.target = std::string(kPods) + "kv_pressure",
                                 .headers = {{"X-Remote-User", "hpa"}}};
  EXPECT_EQ(exchange(kept, request).status, 200);
  const net::TestAuthority next("next");
  served_.trust(next);
  run(200ms);
  EXPECT_EQ(exchange(kept, request).status, 401) << "a kept connection is not who it was";
  EXPECT_EQ(as(next.issue("front-proxy-client", "DNS:front"), request.target).status, 200);
}

TEST_F(MetricsServerTest, ARotatedServingCertificateIsTakenWithoutARestart) {
  const net::TestAuthority next("next serving");
  served_.write_identity(next.issue("kantha", "IP:127.0.0.1"));
  run(200ms);
  net::HttpClient client(context_.get_executor());
  client.set_tls(net::TlsContext::for_client({.ca_pem = next.pem()}).value());
  EXPECT_EQ(exchange(client, {.target = "/livez"}).status, 200);
}

TEST_F(MetricsServerTest, ATokenIsReviewedOnceInTenSeconds) {
  const auto ask = [&](const char* token) {
    return as({}, std::string(kPods) + "kv_pressure",
              {{"Authorization", std::string("Bearer ") + token}})
        .status;
  };
  EXPECT_EQ(ask("good"), 200);
  EXPECT_EQ(reviews_.reviews, 2) << "one of the token, one of the access";
  EXPECT_EQ(reviews_.last_access.at("user"), "owner");
  EXPECT_EQ(ask("good"), 200);
  EXPECT_EQ(reviews_.reviews, 2);
  EXPECT_EQ(ask("bad"), 401);
  EXPECT_EQ(ask("bad"), 401);
  EXPECT_EQ(reviews_.reviews, 3);
}

TEST_F(MetricsServerTest, EveryAccessIsReviewedAsTheApiServerWouldNameIt) {
  get(std::string(kPods) + "kv_pressure");
  EXPECT_EQ(reviews_.last_access.at("user"), "hpa");
  EXPECT_EQ(reviews_.last_access.at("groups"), Json::array({"controllers"}));
  EXPECT_EQ(reviews_.last_access.at("resourceAttributes"),
            Json::parse(R"({"namespace": "a", "verb": "get", "group": "custom.metrics.k8s.io",
              "version": "v1beta2", "resource": "pods", "subresource": "kv_pressure",
              "name": "*"})"));
  get("/apis");
  EXPECT_EQ(reviews_.last_access.at("nonResourceAttributes"),
            Json::parse(R"({"path": "/apis", "verb": "get"})"));
}

TEST_F(MetricsServerTest, WhoMayNotIs403) {
  reviews_.allows = false;
  const net::HttpResponse answer = get(std::string(kPods) + "kv_pressure");
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(Json::parse(answer.body).at("reason"), "Forbidden");
}

TEST_F(MetricsServerTest, NobodyIsLetInWhileTheApiServerSaysNothing) {
  reviews_.is_up = false;
  EXPECT_EQ(get(std::string(kPods) + "kv_pressure").status, 500);
  EXPECT_EQ(as({}, std::string(kPods) + "kv_pressure", {{"Authorization", "Bearer good"}}).status,
            500);
}

TEST_F(MetricsServerTest, TheAggregatorsProbesNeedNoReview) {
  reviews_.is_up = false;
  const net::HttpResponse probe =
      get("/apis/custom.metrics.k8s.io/v1beta2", {{"X-Remote-Group", "system:masters"}});
  EXPECT_EQ(probe.status, 200) << "its group is above all rules";
}

TEST_F(MetricsServerTest, HealthIsOpenAndTellsTheTruth) {
  for (const char* path : {"/livez", "/readyz", "/healthz"}) EXPECT_EQ(as({}, path).status, 200);
  served_.is_ready = false;
  EXPECT_EQ(as({}, "/livez").status, 200);
  EXPECT_EQ(as({}, "/readyz").status, 503);
}

TEST_F(MetricsServerTest, OtherMethodsAre405) {
  const auto front = front_ca_.issue("front-proxy-client", "DNS:front");
  for (const char* method : {"POST", "PUT", "DELETE"}) {
    EXPECT_EQ(as(front, std::string(kPods) + "kv_pressure", {}, method).status, 405) << method;
  }
}

TEST_F(MetricsServerTest, OpenApiDocumentsAreThere) {
  EXPECT_EQ(get_json("/openapi/v2").at("swagger"), "2.0");
  EXPECT_TRUE(get_json("/openapi/v3").at("paths").is_object());
}

}  // namespace
}  // namespace kantha::metricsapi
