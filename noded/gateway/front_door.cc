#include "noded/gateway/front_door.h"

#include <utility>

#include "base/json.h"
#include "base/net/json_answer.h"
#include "base/rng.h"
#include "base/version.h"
#include "noded/gateway/door_dialect.h"
#include "noded/gateway/door_error.h"
#include "noded/gateway/door_path.h"
#include "noded/gateway/outcome_sample.h"

namespace kantha::noded {
namespace {}  // namespace

/// One request on its way through the door.
struct FrontDoor::Visit {
  Visit(net::ResponseWriter& client, DoorRoute at) : writer(client), route(at) {}

  HeadedWriter writer;
  DoorRoute route;
  TimePoint arrived{};
  std::string method;
  RequestTrace trace;
  bool from_peer = false;
  Admission admission;
  ForwardOutcome outcome;
};

FrontDoor::FrontDoor(EngineGate& gate, Forwarder& forwarder, net::HttpClient& client,
                     MetricRegistry& metrics, DoorSettings settings, const Clock& clock)
    : gate_(gate),
      forwarder_(forwarder),
      client_(client),
      metrics_(metrics),
      clock_(clock),
      access_log_path_(settings.access_log),
      gatekeeper_(std::move(settings.gate), clock),
      door_metrics_(metrics, settings.pod),
      ids_(entropy_seed()) {
  open_gauges(settings.pod);
}

void FrontDoor::open_gauges(const std::string& pod) {
  const MetricLabels labels = {{"pod", pod}};
  KeyFile& keys = gatekeeper_.key_file();
  metrics_.gauge("kantha_noded_api_keys", "API keys that are listed", labels,
                 [this] { return static_cast<double>(gatekeeper_.key_count()); });
  metrics_.gauge("kantha_noded_api_keys_stale", "1 while the key file is wrong and old keys serve",
                 labels, [&keys] {
                   keys.keys();
                   return keys.error().empty() ? 0.0 : 1.0;
                 });
  metrics_.counter("kantha_noded_api_key_reloads_total", "Key files read anew", labels,
                   [&keys] { return static_cast<double>(keys.reloads()); });
  metrics_.counter("kantha_noded_api_key_failures_total", "New key files that were wrong", labels,
                   [&keys] { return static_cast<double>(keys.failures()); });
  metrics_.counter("kantha_noded_access_log_dropped_total", "Access log lines that were lost",
                   labels, [this] { return static_cast<double>(access_log_.dropped()); });
  metrics_.gauge("kantha_noded_held_tokens", "Prompt tokens, about, that wait for an engine",
                 labels, [this] { return gatekeeper_.held().held(); });
}

Status FrontDoor::open() {
  TRY_OK(gatekeeper_.open());
  return access_log_.open(access_log_path_);
}

net::HttpResponse FrontDoor::startup() const {
  const bool started = gate_.was_ready();
  OrderedJson body;
  body["status"] = started ? "ok" : "starting";
  body["phase"] = engine_phase_name(gate_.phase());
  body["message"] = gate_.message();
  return net::json_text_answer(started ? 200 : 503, dump_json(body));
}

net::HttpResponse FrontDoor::health() const {
  const bool draining = forwarder_.leaving();
  const bool ok = gate_.phase() == EnginePhase::kReady && !draining;
  OrderedJson body;
  body["status"] = ok ? "ok" : "unavailable";
  body["phase"] = engine_phase_name(draining ? EnginePhase::kDraining : gate_.phase());
  body["message"] = draining ? "this pod is draining" : gate_.message();
  return net::json_text_answer(ok ? 200 : 503, dump_json(body));
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

net::HttpResponse FrontDoor::open_page(const DoorRoute& route, const std::string& method) const {
  if (!allows(route, method)) {
    net::HttpResponse refusal = door_error(405, "this route answers GET only");
    refusal.headers.set("Allow", allowed_methods(route));
    return refusal;
  }
  if (route.page == DoorPage::kHealth) return health();
  if (route.page == DoorPage::kStartup) return startup();
  if (route.page == DoorPage::kLive) return net::json_answer(200, {{"status", "ok"}});
  return net::json_answer(200, {{"version", std::string(version())}});
}

net::Task<void> FrontDoor::answer(net::HttpRequest request, net::ResponseWriter& writer) {
  const DoorRoute route = door_route(request.target);
  if (!route.open) {
    co_await answer_guarded(std::move(request), route, writer);
    co_return;
  }
  net::HttpResponse page = open_page(route, request.method);
  co_await door_send(writer, std::move(page));
}

GateMoment FrontDoor::moment(const net::HttpRequest& request) const {
  return {.from_peer = is_peer_ && is_peer_(request),
          .would_wait = gate_.phase() != EnginePhase::kReady || forwarder_.counts().held > 0,
          .nobody_waits = forwarder_.counts().held == 0};
}

net::Task<void> FrontDoor::answer_guarded(net::HttpRequest request, DoorRoute route,
                                          net::ResponseWriter& writer) {
  Visit visit(writer, route);
  visit.arrived = clock_.now();
  visit.method = request.method;
  visit.trace = ids_.begin(request.headers);
  visit.writer.set("x-request-id", visit.trace.request_id);
  const GateMoment now = moment(request);
  visit.from_peer = now.from_peer;
  visit.admission = gatekeeper_.admit(request, route, now);
  for (const auto& [name, value] : visit.admission.fields.all()) visit.writer.set(name, value);
  if (visit.admission.refusal == DoorRefusal::kNone) {
    co_await let_in(std::move(request), visit);
  } else {
    net::HttpResponse refusal =
        in_dialect(dialect_of(request.path()), std::move(visit.admission.answer));
    co_await door_send(visit.writer, std::move(refusal));
  }
  visit.outcome.status = visit.writer.status();
  visit.outcome.bytes_sent = visit.writer.bytes();
  visit.outcome.total = clock_.now() - visit.arrived;
  note(visit);
}

net::Task<void> FrontDoor::let_in(net::HttpRequest request, Visit& visit) {
  if (visit.route.page == DoorPage::kMetrics) {
    net::HttpResponse page = co_await scrape();
    co_await door_send(visit.writer, std::move(page));
    co_return;
  }
  // In the form that the guard has read.
  request.target = std::string(origin_form(request.target));
  // Tenants share no cached prefix, so that they are no reason to meet at one pod.
  if (!visit.admission.tenant.empty()) {
    request.headers.set("x-kantha-tenant", visit.admission.tenant);
  }
  visit.outcome = co_await forwarder_.forward(std::move(request), visit.writer);
}

void FrontDoor::note(Visit& visit) {
  Admission& admission = visit.admission;
  const ForwardOutcome& outcome = visit.outcome;
  if (admission.ticket != nullptr) {
    // Whoever leaves before the engine has counted pays what was set aside.
    constexpr int kBadRequest = 400;
    const std::int64_t prompt = outcome.prompt_tokens.value_or(
        outcome.status < kBadRequest ? static_cast<std::int64_t>(admission.estimate) : 0);
    admission.ticket->finish(prompt + outcome.completion_tokens.value_or(0));
  }
  door_metrics_.refused(admission.refusal);
  note_outcome(outcome, sample_);
  door_metrics_.answered(visit.from_peer ? "peer" : admission.tenant, outcome);
  if (!access_log_.is_on()) return;
  AccessEntry entry;
  entry.trace = std::move(visit.trace);
  entry.tenant = std::move(admission.tenant);
  entry.method = std::move(visit.method);
  entry.route = std::string(visit.route.name);
  entry.model = std::move(admission.model);
  entry.refusal = door_refusal_name(admission.refusal);
  note_outcome(outcome, entry);
  access_log_.write(entry, clock_.wall_now());
}

}  // namespace kantha::noded
