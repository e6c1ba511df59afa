#include "operator/cluster/http_pages.h"

#include <gtest/gtest.h>

namespace kantha::cluster {
namespace {

TEST(HttpPages, AnswerByPath) {
  MetricRegistry metrics;
  metrics.counter("kantha_test_total", "A test", {}).add();
  bool ready = false;
  const PageSource source{[&] { return ready; }, [] { return Json{{"queue", 3}}; }, metrics};
  const struct {
    const char* method;
    const char* target;
    int status;
    const char* body;
  } cases[] = {
      {"GET", "/live", 200, "ok"},
      {"GET", "/ready", 503, "not in view"},
      {"GET", "/metrics?x=1", 200, "kantha_test_total 1"},
      {"GET", "/debug/state", 200, "\"queue\": 3"},
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
