#include "noded/activator/lane.h"

#include <utility>

#include "base/log.h"
#include "base/net/json_answer.h"
#include "base/version.h"
#include "noded/fleet/hop_seal.h"
#include "noded/gateway/door_dialect.h"
#include "noded/gateway/door_error.h"
#include "noded/gateway/door_path.h"
#include "noded/gateway/held_count.h"

namespace kantha::noded {
namespace {

constexpr std::size_t kShownBytesMax = 128;
constexpr int kRetryAfterSeconds = 5;

net::HttpLimits lane_limits() {
  net::HttpLimits limits;
  limits.bodies_bytes_max = 64u << 20;
  limits.connections_max = 1024;
  return limits;
}

/// Requests are welcome here, though there may be no pod: they wait.
net::HttpResponse open_page(const DoorRoute& route, const std::string& method) {
  if (!allows(route, method)) {
    net::HttpResponse refusal = door_error(405, "this route answers GET only");
    refusal.headers.set("Allow", allowed_methods(route));
    return refusal;
  }
  if (route.page == DoorPage::kVersion) {
    return net::json_answer(200, {{"version", std::string(version())}});
  }
  return net::json_answer(200, {{"status", "ok"}, {"phase", "activator"}});
}

net::HttpResponse no_room(std::string message) {
  return door_error({.status = 503,
                     .message = std::move(message),
                     .type = "server_error",
                     .code = "activator_full",
                     .retry_after_seconds = kRetryAfterSeconds});
}

net::HttpResponse bad_key(std::string message) {
  net::HttpResponse answer = door_error({.status = 401,
                                         .message = std::move(message),
                                         .type = "authentication_error",
                                         .code = "invalid_api_key"});
  answer.headers.set("WWW-Authenticate", "Bearer");
  return answer;
}

}  // namespace

Lane::Lane(const LaneSetting& setting, Activation told)
    : setting_(setting),
      told_(std::move(told)),
      pods_(setting.executor, told_.name, setting.clock),
      forwarder_(setting.executor, pods_, setting.client, setting.policy, setting.clock) {
  read_keys();
  pods_.set_pods(told_.pods);
}

Lane::~Lane() = default;

void Lane::open() {
  auto server = std::make_unique<net::HttpServer>(
      setting_.executor,
      [this](net::HttpRequest request, net::ResponseWriter& writer) {
        return answer(std::move(request), writer);
      },
      lane_limits());
  const net::Endpoint where{setting_.host, static_cast<std::uint16_t>(told_.port), {}};
  const Result<net::Endpoint> bound = server->listen(where);
  if (!bound.ok()) {
    listen_error_ = bound.error().message;
    log_error("no door for an object", {{"object", told_.name}, {"error", listen_error_}});
    return;
  }
  listen_error_.clear();
  // What is being answered on the old port's connections goes on to its end.
  if (server_) {
    server_->stop_accepting();
    left_.push_back(std::move(server_));
  }
  server_ = std::move(server);
  port_ = bound->port;
}

void Lane::update(Activation told) {
  const bool moves = told.port != told_.port && told.port != 0 && told.port != port_;
  const bool has_new_keys = told.keys != told_.keys || told.asks_for_keys != told_.asks_for_keys;
  told_ = std::move(told);
  if (has_new_keys) read_keys();
  pods_.set_pods(told_.pods);
  if (moves || server_ == nullptr) open();
}

/// Keys that cannot be read let nobody in, but those before them go on.
void Lane::read_keys() {
  keys_error_.clear();
  if (!told_.asks_for_keys || !told_.keys) {
    keys_.reset();
    return;
  }
  Result<ApiKeys> keys = ApiKeys::read(*told_.keys);
  if (keys.ok()) {
    keys_ = std::move(keys).value();
  } else {
    keys_error_ = keys.error().message;
    log_error("API keys of an object are wrong", {{"object", told_.name}, {"error", keys_error_}});
  }
}

LaneState Lane::state() const {
  const DoorCounts& counts = forwarder_.counts();
  const auto idle =
      std::chrono::duration_cast<std::chrono::milliseconds>(forwarder_.idle_time()).count();
  return {.id = told_.id,
          .port = server_ ? port_ : 0,
          .held = counts.held,
          .waiting = counts.in_flight,
          .total = counts.total,
          .idle_ms = idle,
          .error = listen_error_.empty() ? keys_error_ : listen_error_};
}

net::Task<void> Lane::drain(Duration timeout) {
  if (server_) co_await server_->drain(timeout);
  for (const auto& server : left_) co_await server->drain(Duration::zero());
}

net::Task<void> Lane::answer(net::HttpRequest request, net::ResponseWriter& client) {
  HeadedWriter writer(client);
  writer.set("Connection", "close");
  const DoorRoute route = door_route(request.target);
  if (route.open) {
    net::HttpResponse page = open_page(route, request.method);
    co_await door_send(writer, std::move(page));
    co_return;
  }
  const TimePoint arrived = setting_.clock.now();
  AccessEntry entry;
  entry.method = request.method;
  entry.route = std::string(route.name);
  entry.trace = setting_.ids.begin(request.headers);
  writer.set("x-request-id", entry.trace.request_id);
  std::optional<net::HttpResponse> refused = refusal(request, route, entry);
  if (refused) {
    net::HttpResponse shown = in_dialect(dialect_of(request.path()), std::move(*refused));
    co_await door_send(writer, std::move(shown));
  } else {
    co_await let_in(std::move(request), writer, entry);
  }
  if (!setting_.access_log.is_on()) co_return;
  entry.status = writer.status();
  entry.bytes_sent = writer.bytes();
  entry.total = setting_.clock.now() - arrived;
  setting_.access_log.write(entry, setting_.clock.wall_now());
}

net::Task<void> Lane::let_in(net::HttpRequest request, HeadedWriter& writer, AccessEntry& entry) {
  ActivatorRoom& room = setting_.room;
  const HeldCount place(room.requests);
  const HeldCount bytes(room.bytes, static_cast<std::int64_t>(request.body.size()));
  request.target = std::string(origin_form(request.target));
  // Pods believe it of each other only.
  request.headers.remove(kHopHeader);
  const ForwardOutcome outcome = co_await forwarder_.forward(std::move(request), writer);
  note_outcome(outcome, entry);
}

std::optional<net::HttpResponse> Lane::refusal(const net::HttpRequest& request,
                                               const DoorRoute& route, AccessEntry& entry) const {
  if (auto answer = key_refusal(request, entry)) return answer;
  if (route.page == DoorPage::kNone) {
    entry.refusal = "no_route";
    return door_error(
        {.status = 404,
         .message = "no such route: " + std::string(request.path().substr(0, kShownBytesMax)),
         .code = "not_found"});
  }
  if (!allows(route, request.method)) {
    entry.refusal = "method";
    const std::string allowed = allowed_methods(route);
    net::HttpResponse answer = door_error({.status = 405,
                                           .message = "this route answers " + allowed + " only",
                                           .code = "method_not_allowed"});
    answer.headers.set("Allow", allowed);
    return answer;
  }
  if (route.page == DoorPage::kMetrics) {
    return no_room("metrics are those of pods: ask them, not the Service");
  }
  ActivatorRoom& room = setting_.room;
  std::string full = room.full_for(static_cast<std::int64_t>(request.body.size()));
  if (full.empty()) return std::nullopt;
  entry.refusal = "queue";
  room.refused += 1;
  return no_room(std::move(full));
}

std::optional<net::HttpResponse> Lane::key_refusal(const net::HttpRequest& request,
                                                   AccessEntry& entry) const {
  if (!told_.asks_for_keys) return std::nullopt;
  if (!keys_) {
    entry.refusal = "no_key";
    return door_error(503, "the API keys of this model are not known here yet", kRetryAfterSeconds);
  }
  const Result<std::string_view> key = presented_key(request.headers);
  if (!key.ok()) {
    entry.refusal = "no_key";
    return bad_key(key.error().message);
  }
  const KeyGrant* grant = keys_->find(*key);
  if (grant == nullptr) {
    entry.refusal = "unknown_key";
    return bad_key("this API key is unknown");
  }
  entry.tenant = grant->tenant;
  return std::nullopt;
}

}  // namespace kantha::noded
