#include "operator/kube/api_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "tests/base/net/loopback.h"
#include "tests/operator/kube/scripted_transport.h"

namespace kantha::kube {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ApiClientTest : public testing::Test {
 protected:
  const net::HttpRequest& last() { return transport_.requests.back(); }
  template <class T>
  T run(net::Task<T> task) {
    return net::run_on(io_, std::move(task));
  }

  boost::asio::io_context io_;
  ScriptedTransport transport_;
  RateLimiter limiter_{system_clock(), 0, 0};
  MetricRegistry metrics_;
  ApiClient client_{transport_, limiter_, metrics_};
};

TEST_F(ApiClientTest, GetsOneObject) {
  transport_.answer(200, R"({"kind":"Pod"})");
  const auto pod = run(client_.get(kPods, {"n", "a"}));
  ASSERT_TRUE(pod.ok());
  EXPECT_EQ((*pod)["kind"], "Pod");
  EXPECT_EQ(last().method, "GET");
  EXPECT_EQ(last().target, "/api/v1/namespaces/n/pods/a");
  EXPECT_EQ(last().headers.find("accept"), "application/json");
  EXPECT_THAT(std::string(last().headers.find("user-agent").value()),
              StartsWith("kantha-operator/"));
}

TEST_F(ApiClientTest, ListsAPageAndItsSuccessors) {
  transport_.answer(
      200, R"({"metadata":{"resourceVersion":"7","continue":"t+/"},"items":[{"a":1},{"b":2}]})");
  const auto page =
      run(client_.list(kPods, "n", {.label_selector = "a=b,c", .resource_version = "0"}));
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->items.size(), 2u);
  EXPECT_EQ(page->resource_version, "7");
  EXPECT_EQ(page->continue_token, "t+/");
  EXPECT_EQ(last().target,
            "/api/v1/namespaces/n/pods?labelSelector=a%3Db%2Cc&limit=500&resourceVersion=0");
  transport_.answer(200, R"({"metadata":{"resourceVersion":"7"},"items":null})");
  const auto next =
      run(client_.list(kPods, "", {.resource_version = "0", .limit = 2, .continue_token = "t+/"}));
  ASSERT_TRUE(next.ok());
  EXPECT_TRUE(next->items.empty());
  EXPECT_EQ(last().target, "/api/v1/pods?limit=2&continue=t%2B%2F")
      << "a token already carries its version";
}

TEST_F(ApiClientTest, AnswersThatAreNoObjectsOrListsAreMalformed) {
  for (const char* body : {"", "[]", "{", R"({"items":[]})", R"({"metadata":{},"items":[]})",
                           R"({"metadata":{"resourceVersion":"1"},"items":7})"}) {
    transport_.answer(200, body);
    const auto page = run(client_.list(kPods, "n", {}));
    ASSERT_FALSE(page.ok()) << body;
    EXPECT_EQ(fault_of(page.error()), ApiFault::kMalformed) << body;
  }
}

TEST_F(ApiClientTest, AListMayBeMuchLargerThanAnObject) {
  std::string body = R"({"metadata":{"resourceVersion":"1"},"items":[)";
  for (int i = 0; i < 30'000; ++i) body += R"({"a":[1,2,3,4,5,6,7,8,9]},)";
  body += "{}]}";
  transport_.answer(200, body);
  EXPECT_EQ(run(client_.list(kPods, "n", {}))->items.size(), 30'001u);
}

TEST_F(ApiClientTest, CreatesAndReplaces) {
  transport_.answer(201, "{}");
  EXPECT_TRUE(run(client_.create(kPods, "n", "{\"x\":1}")).ok());
  EXPECT_EQ(last().method, "POST");
  EXPECT_EQ(last().target, "/api/v1/namespaces/n/pods");
  EXPECT_EQ(last().body, "{\"x\":1}");
  EXPECT_EQ(last().headers.find("content-type"), "application/json");
  transport_.answer(200, "{}");
  EXPECT_TRUE(run(client_.replace(kLeases, {"n", "l"}, "{}")).ok());
  EXPECT_EQ(last().method, "PUT");
  EXPECT_EQ(last().target, "/apis/coordination.k8s.io/v1/namespaces/n/leases/l");
}

TEST_F(ApiClientTest, PatchesInThreeForms) {
  const struct {
    PatchOptions options;
    const char* target;
    const char* content_type;
  } cases[] = {
      {{.kind = PatchKind::kApply, .field_manager = "m/1", .force = true, .subresource = "status"},
       "/api/v1/namespaces/n/pods/a/status?fieldManager=m%2F1&force=true",
       "application/apply-patch+yaml"},
      {{.kind = PatchKind::kApply, .field_manager = "m"},
       "/api/v1/namespaces/n/pods/a?fieldManager=m",
       "application/apply-patch+yaml"},
      {{.kind = PatchKind::kMerge}, "/api/v1/namespaces/n/pods/a", "application/merge-patch+json"},
      {{.kind = PatchKind::kJson}, "/api/v1/namespaces/n/pods/a", "application/json-patch+json"},
  };
  for (const auto& each : cases) {
    transport_.answer(200, "{}");
    EXPECT_TRUE(run(client_.patch(kPods, {"n", "a"}, "{}", each.options)).ok());
    EXPECT_EQ(last().method, "PATCH");
    EXPECT_EQ(last().target, each.target);
    EXPECT_EQ(last().headers.find("content-type"), each.content_type);
  }
}

TEST_F(ApiClientTest, AsksForMetadataAloneWhereTheRestIsNotRead) {
  constexpr const char* kOne =
      "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;q=0.9";
  constexpr const char* kList =
      "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;q=0.9";
  transport_.answer(201, "{}");
  EXPECT_TRUE(run(client_.create(kPods, "n", "{}", Content::kMetadata)).ok());
  EXPECT_EQ(last().headers.find("accept"), kOne);
  transport_.answer(200, "{}");
  EXPECT_TRUE(run(client_.patch(kPods, {"n", "a"}, "{}", {.answer = Content::kMetadata})).ok());
  EXPECT_EQ(last().headers.find("accept"), kOne);
  transport_.answer(200, R"({"metadata":{"resourceVersion":"7"}})");
  EXPECT_TRUE(run(client_.list(kPods, "n", {.content = Content::kMetadata})).ok());
  EXPECT_EQ(last().headers.find("accept"), kList);
  transport_.stream(200, {});
  EXPECT_TRUE(run(client_.watch(kPods, "", {.content = Content::kMetadata})).ok());
  EXPECT_EQ(last().headers.find("accept"), kOne);
}

TEST_F(ApiClientTest, NobodyGetsManagedFields) {
  transport_.answer(200, R"({"metadata":{"managedFields":[{"manager":"m"}],"name":"a"}})");
  const auto pod = run(client_.get(kPods, {"n", "a"}));
  ASSERT_TRUE(pod.ok());
  EXPECT_EQ(*pod, Json::parse(R"({"metadata":{"managedFields":[],"name":"a"}})"));
}

TEST_F(ApiClientTest, DeletesOnlyTheObjectThatWasDecidedOn) {
  transport_.answer(200, "{}");
  EXPECT_TRUE(run(client_.remove(kPods, {"n", "a"},
                                 {.uid = "u", .resource_version = "5", .grace_seconds = 9})));
  EXPECT_EQ(last().method, "DELETE");
  const Json body = parse_json(last().body).value();
  EXPECT_EQ(body["preconditions"]["uid"], "u");
  EXPECT_EQ(body["preconditions"]["resourceVersion"], "5");
  EXPECT_EQ(body["gracePeriodSeconds"], 9);
  EXPECT_EQ(body["propagationPolicy"], "Background");
  transport_.answer(200, "{}");
  EXPECT_TRUE(run(client_.remove(kPods, {"n", "a"}, {.uid = "u"})));
  const Json plain = parse_json(last().body).value();
  EXPECT_FALSE(plain.contains("gracePeriodSeconds"));
  EXPECT_FALSE(plain["preconditions"].contains("resourceVersion"));
  const std::size_t count = transport_.requests.size();
  const Status refused = run(client_.remove(kPods, {"n", "a"}, {}));
  EXPECT_EQ(fault_of(refused.error()), ApiFault::kInvalid);
  EXPECT_EQ(transport_.requests.size(), count) << "nothing is sent without a uid";
}

TEST_F(ApiClientTest, ReadsPathsAsText) {
  transport_.answer(200, "ok");
  EXPECT_EQ(*run(client_.get_raw("/readyz?verbose")), "ok");
  EXPECT_EQ(last().target, "/readyz?verbose");
}

TEST_F(ApiClientTest, FailuresAreFaultsThatNameTheCall) {
  transport_.answer(404, "");
  const auto missing = run(client_.get(kPods, {"n", "a"}));
  EXPECT_EQ(fault_of(missing.error()), ApiFault::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("GET /api/v1/namespaces/n/pods/a: "));
  transport_.fail(Code::kDeadlineExceeded);
  const auto late = run(client_.create(kPods, "n", "{}"));
  EXPECT_EQ(fault_of(late.error()), ApiFault::kTimeout);
  EXPECT_TRUE(may_have_happened(late.error()));
  EXPECT_EQ(transport_.requests.size(), 2u) << "nothing is tried again here";
}

TEST_F(ApiClientTest, CountsRequestsAndTheirTime) {
  transport_.answer(200, "{}");
  transport_.answer(404, "");
  transport_.fail(Code::kUnavailable);
  for (int i = 0; i < 3; ++i) (void)run(client_.get(kPods, {"n", "a"}));
  const std::string text = metrics_.scrape();
  for (const char* code : {"200", "404", "Unreachable"}) {
    EXPECT_THAT(text, HasSubstr("kantha_operator_api_requests_total{code=\"" + std::string(code) +
                                "\",resource=\"pods\",verb=\"get\"} 1"));
  }
  EXPECT_THAT(text, HasSubstr("kantha_operator_api_request_seconds_count"));
  EXPECT_THAT(text, HasSubstr("kantha_operator_api_limiter_wait_seconds_count 3"));
}

TEST_F(ApiClientTest, AThrottledCallHoldsTheOthersForAMomentOnly) {
  transport_.answer(429, "", {{"Retry-After", "60"}});
  const auto throttled = run(client_.get(kPods, {"n", "a"}));
  EXPECT_EQ(throttled.error().retry_after_ms, 60'000);
  const Duration waited = run(limiter_.acquire());
  EXPECT_GT(waited, std::chrono::milliseconds(500));
  EXPECT_LT(waited, std::chrono::milliseconds(1500));
}

const std::string kEvent = R"({"type":"ADDED","object":{"metadata":{"name":"a"}}})"
                           "\n";

TEST_F(ApiClientTest, WatchesUntilTheServerEndsIt) {
  transport_.stream(200, {kEvent.substr(0, 9), kEvent.substr(9) + "{bad\n" + kEvent, kEvent});
  const auto watch = run(client_.watch(
      kModelServings, "",
      {.label_selector = "x", .resource_version = "5", .server_timeout = std::chrono::seconds(7)}));
  ASSERT_TRUE(watch.ok());
  EXPECT_EQ(last().target,
            "/apis/serving.kantha.dev/v1alpha1/modelservings?watch=true&allowWatchBookmarks=true"
            "&labelSelector=x&resourceVersion=5&timeoutSeconds=7");
  const Duration patience = std::chrono::seconds(1);
  EXPECT_EQ(run((*watch)->read(patience))->size(), 2u);
  EXPECT_EQ(run((*watch)->read(patience))->size(), 1u);
  EXPECT_EQ(run((*watch)->read(patience))->size(), 0u);
  EXPECT_THAT(metrics_.scrape(),
              HasSubstr("kantha_operator_watch_skipped_total{resource=\"modelservings\"} 1"));
}

TEST_F(ApiClientTest, AsksForInitialEventsAsWatchListWants) {
  transport_.stream(200, {});
  EXPECT_TRUE(run(client_.watch(kPods, "", {.send_initial_events = true})).ok());
  EXPECT_EQ(last().target,
            "/api/v1/pods?watch=true&allowWatchBookmarks=true&sendInitialEvents=true"
            "&resourceVersionMatch=NotOlderThan&timeoutSeconds=300");
}

TEST_F(ApiClientTest, AWatchThatIsRefusedTellsWhy) {
  transport_.stream(410, {std::string(R"({"kind":"Status","message":"too old re)"),
                          std::string(R"(source version"})")});
  const auto gone = run(client_.watch(kPods, "", {}));
  EXPECT_EQ(fault_of(gone.error()), ApiFault::kExpired);
  EXPECT_THAT(gone.error().message, HasSubstr("too old resource version"));
  transport_.stream(403, {unavailable("cut")});
  EXPECT_EQ(fault_of(run(client_.watch(kPods, "", {})).error()), ApiFault::kForbidden);
}

TEST_F(ApiClientTest, AWatchThatBreaksIsAFault) {
  const struct {
    std::vector<Result<std::string>> pieces;
    ApiFault fault;
  } cases[] = {
      {{data_loss("cut")}, ApiFault::kUnreachable},
      {{kEvent.substr(0, 20)}, ApiFault::kUnreachable},
      {{Error{Code::kDeadlineExceeded, "silent"}}, ApiFault::kTimeout},
      {{std::string((8u << 20) + 1, 'x')}, ApiFault::kMalformed},
  };
  for (const auto& each : cases) {
    transport_.stream(200, each.pieces);
    const auto watch = run(client_.watch(kPods, "", {}));
    const auto events = run((*watch)->read(std::chrono::seconds(1)));
    ASSERT_FALSE(events.ok());
    EXPECT_EQ(fault_of(events.error()), each.fault);
  }
}

}  // namespace
}  // namespace kantha::kube
