#include "operator/cluster/http_pages.h"

#include <utility>

namespace kantha::cluster {
namespace {

net::HttpResponse text_page(int status, std::string body, const char* type = "text/plain") {
  net::HttpResponse out;
  out.status = status;
  out.headers.set("Content-Type", type);
  out.body = std::move(body);
  return out;
}

}  // namespace

net::HttpResponse answer_page(const net::HttpRequest& request, const PageSource& source) {
  if (request.method != "GET" && request.method != "HEAD") {
    net::HttpResponse refused = text_page(405, "only GET\n");
    refused.headers.set("Allow", "GET, HEAD");
    return refused;
  }
  const std::string_view path = request.path();
  if (path == "/live") return text_page(200, "ok\n");
  if (path == "/ready") {
    return source.is_ready() ? text_page(200, "ok\n")
                             : text_page(503, "the cluster is not in view yet\n");
  }
  if (path == "/metrics") {
    return text_page(200, source.metrics.scrape() + source.more_metrics(),
                     "text/plain; version=0.0.4");
  }
  if (path == "/debug/state") {
    if (request.target.find("format=text", path.size()) != std::string::npos) {
      return text_page(200, debug_text(source.state()));
    }
    const std::string text =
        debug_json(source.state()).dump(2, ' ', false, Json::error_handler_t::replace);
    return text_page(200, text + "\n", "application/json");
  }
  return text_page(404, "pages: /live /ready /metrics /debug/state\n");
}

}  // namespace kantha::cluster
