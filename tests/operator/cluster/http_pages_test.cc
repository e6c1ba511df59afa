#include "operator/cluster/http_pages.h"

#include <gtest/gtest.h>

namespace kantha::cluster {
namespace {

TEST(HttpPages, AnswerByPath) {
  MetricRegistry metrics;
  metrics.counter("kantha_test_total", "A test", {}).add();
  bool ready = false;
  const PageSource source{[&] { return ready; }, [] { return DebugView{.writes = 3}; }, metrics,
                          [] { return std::string("more 1\n"); }};
  const struct {
    const char* method;
    const char* target;
    int status;
    const char* body;
  } cases[] = {
      {"GET", "/live", 200, "ok"},
      {"GET", "/ready", 503, "not in view"},
      {"GET", "/metrics?x=1", 200, "kantha_test_total 1"},
      {"GET", "/metrics", 200, "\nmore 1\n"},
      {"GET", "/debug/state", 200, "\"writes\": 3"},
      {"GET", "/debug/state?format=text", 200, "WRITES 3, Events"},
      {"GET", "/", 404, "/debug/state"},
      {"POST", "/live", 405, "GET"},
  };
  for (const auto& c : cases) {
    net::HttpRequest request;
    request.method = c.method;
    request.target = c.target;
    const net::HttpResponse answer = answer_page(request, source);
    EXPECT_EQ(answer.status, c.status) << c.target;
    EXPECT_NE(answer.body.find(c.body), std::string::npos) << answer.body;
  }
  ready = true;
  net::HttpRequest request;
  request.target = "/ready";
  EXPECT_EQ(answer_page(request, source).status, 200);
}

}  // namespace
}  // namespace kantha::cluster
