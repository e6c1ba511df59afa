#include "noded/gateway/front_door.h"

#include <array>
#include <utility>

#include "base/json.h"
#include "base/version.h"
#include "noded/gateway/door_error.h"

namespace kantha::noded {
namespace {

constexpr std::array<std::pair<std::string_view, DoorRoute>, 12> kRoutes = {{
    {"/live", DoorRoute::kLive},
    {"/health", DoorRoute::kHealth},
    {"/ready", DoorRoute::kHealth},
    {"/startup", DoorRoute::kStartup},
    {"/version", DoorRoute::kVersion},
    {"/metrics", DoorRoute::kMetrics},
    {"/v1/models", DoorRoute::kForward},
    {"/v1/chat/completions", DoorRoute::kForward},
    {"/v1/completions", DoorRoute::kForward},
    {"/v1/embeddings", DoorRoute::kForward},
    {"/tokenize", DoorRoute::kForward},
    {"/detokenize", DoorRoute::kForward},
}};

net::HttpResponse json_answer(int status, const OrderedJson& body) {
  net::HttpResponse response;
  response.status = status;
  response.headers.set("Content-Type", "application/json");
  response.body = dump_json(body);
  return response;
}

bool is_read(const std::string& method) { return method == "GET" || method == "HEAD"; }

}  // namespace

DoorRoute door_route(std::string_view path) {
  for (const auto& [known, route] : kRoutes) {
    if (path == known) return route;
  }
  constexpr std::string_view kModel = "/v1/models/";
  const bool one_model = path.starts_with(kModel) && path.size() > kModel.size() &&
                         path.find("..") == std::string_view::npos;
  return one_model ? DoorRoute::kForward : DoorRoute::kUnknown;
}

FrontDoor::FrontDoor(EngineGate& gate, Forwarder& forwarder, net::HttpClient& client,
                     MetricRegistry& metrics)
    : gate_(gate), forwarder_(forwarder), client_(client), metrics_(metrics) {}

net::HttpResponse FrontDoor::startup() const {
  const bool started = gate_.was_ready();
  OrderedJson body;
  body["status"] = started ? "ok" : "starting";
  body["phase"] = engine_phase_name(gate_.phase());
  body["message"] = gate_.message();
  return json_answer(started ? 200 : 503, body);
}

net::HttpResponse FrontDoor::health() const {
  const bool draining = forwarder_.leaving();
  const bool ok = gate_.phase() == EnginePhase::kReady && !draining;
  OrderedJson body;
  body["status"] = ok ? "ok" : "unavailable";
  body["phase"] = engine_phase_name(draining ? EnginePhase::kDraining : gate_.phase());
  body["message"] = draining ? "this pod is draining" : gate_.message();
  return json_answer(ok ? 200 : 503, body);
}

net::Task<net::HttpResponse> FrontDoor::scrape() {
  net::HttpResponse response;
  response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  if (gate_.phase() == EnginePhase::kReady) {
    net::HttpRequest request;
    request.target = "/metrics";
    const Result<net::HttpResponse> engine =
        co_await client_.call(gate_.endpoint(), std::move(request), std::chrono::seconds(2));
    if (engine.ok() && engine->status == 200) response.body = engine->body;
  }
  response.body += metrics_.scrape();
  co_return response;
}

net::Task<void> FrontDoor::answer(net::HttpRequest request, net::ResponseWriter& writer) {
  const DoorRoute route = door_route(request.path());
  if (route == DoorRoute::kForward) {
    co_await forwarder_.forward(std::move(request), writer);
    co_return;
  }
  net::HttpResponse response;
  if (route == DoorRoute::kUnknown) {
    response = door_error(404, "no such route: " + std::string(request.path()));
  } else if (!is_read(request.method)) {
    response = door_error(405, "this route answers GET only");
    response.headers.set("Allow", "GET, HEAD");
  } else if (route == DoorRoute::kMetrics) {
    response = co_await scrape();
  } else if (route == DoorRoute::kHealth) {
    response = health();
  } else if (route == DoorRoute::kStartup) {
    response = startup();
  } else if (route == DoorRoute::kLive) {
    response = json_answer(200, {{"status", "ok"}});
  } else {
    response = json_answer(200, {{"version", std::string(version())}});
  }
  co_await door_send(writer, std::move(response));
}

}  // namespace kantha::noded
