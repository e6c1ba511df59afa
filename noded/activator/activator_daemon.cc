#include "noded/activator/activator_daemon.h"

#include <set>
#include <utility>

#include "base/digest.h"
#include "base/json.h"
#include "base/log.h"
#include "base/net/json_answer.h"
#include "base/rng.h"
#include "noded/gateway/door_error.h"

namespace kantha::noded {
namespace {

constexpr JsonLimits kTableLimits = {.depth_max = 8, .nodes_max = 400'000, .bytes_max = 32u << 20};
constexpr Duration kLastWords = std::chrono::seconds(2);
constexpr Duration kLook = std::chrono::milliseconds(50);

net::HttpLimits admin_limits() {
  net::HttpLimits limits;
  limits.body_bytes_max = kTableLimits.bytes_max;
  limits.connections_max = 64;
  return limits;
}

ForwardPolicy policy_for(const ActivatorOptions& options) {
  ForwardPolicy policy;
  policy.hold_timeout = options.hold_timeout;
  policy.held_max = options.held_per_object_max;
  policy.kept_bytes_max = options.bytes_max;
  return policy;
}

}  // namespace

ActivatorDaemon::ActivatorDaemon(boost::asio::io_context& context, ActivatorOptions options,
                                 const Clock& clock)
    : context_(context),
      options_(std::move(options)),
      clock_(clock),
      client_(context.get_executor()),
      guard_(options_.admin_token_file),
      ids_(entropy_seed()),
      room_{.requests_max = options_.requests_max, .bytes_max = options_.bytes_max},
      setting_{.executor = context.get_executor(),
               .clock = clock,
               .client = client_,
               .room = room_,
               .access_log = access_log_,
               .ids = ids_,
               .host = options_.host,
               .policy = policy_for(options_)},
      tasks_(context.get_executor(), "activator") {
  open_metrics();
}

ActivatorDaemon::~ActivatorDaemon() = default;

Result<net::Endpoint> ActivatorDaemon::start() {
  TRY_OK(guard_.open());
  TRY_OK(access_log_.open(options_.access_log));
  admin_server_ = std::make_unique<net::HttpServer>(
      context_.get_executor(),
      [this](net::HttpRequest request, net::ResponseWriter& writer) {
        return answer_admin(std::move(request), writer);
      },
      admin_limits());
  TRY(const net::Endpoint admin, admin_server_->listen(options_.admin));
  log_info("activator is up", {{"admin", admin.to_string()}, {"host", options_.host}});
  return admin;
}

std::int64_t ActivatorDaemon::sum(std::int64_t DoorCounts::* member) const {
  std::int64_t out = 0;
  for (const auto& [id, lane] : lanes_) out += lane->counts().*member;
  return out;
}

void ActivatorDaemon::open_metrics() {
  const auto gauge = [this](const char* name, const char* help, std::function<double()> read) {
    metrics_.gauge(name, help, {}, std::move(read));
  };
  gauge("kantha_activator_objects", "Objects whose requests are taken here",
        [this] { return static_cast<double>(lanes_.size()); });
  gauge("kantha_activator_requests_held", "Requests that wait for a pod",
        [this] { return static_cast<double>(sum(&DoorCounts::held)); });
  gauge("kantha_activator_requests_in_flight", "Requests that wait or were passed on",
        [this] { return static_cast<double>(room_.requests); });
  gauge("kantha_activator_kept_bytes", "Bodies of these requests",
        [this] { return static_cast<double>(room_.bytes); });
  metrics_.counter("kantha_activator_requests_total", "Requests that were let in", {}, [this] {
    return static_cast<double>(total_of_gone_ + sum(&DoorCounts::total));
  });
  metrics_.counter("kantha_activator_refused_total", "Requests refused for want of room", {},
                   [this] { return static_cast<double>(room_.refused); });
}

ActivatorState ActivatorDaemon::state() const {
  ActivatorState out{.table = table_, .draining = draining_, .lanes = {}};
  for (const auto& [id, lane] : lanes_) out.lanes.push_back(lane->state());
  return out;
}

net::Task<void> ActivatorDaemon::answer_admin(net::HttpRequest request,
                                              net::ResponseWriter& writer) {
  const std::string path(request.path());
  const bool get = request.method == "GET";
  net::HttpResponse response;
  if (get && path == "/live") {
    response = net::json_answer(200, {{"status", "ok"}});
  } else if (get && path == "/ready") {
    response = net::json_answer(draining_ ? 503 : 200, {{"status", draining_ ? "draining" : "ok"}});
  } else if (get && path == "/metrics") {
    response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    response.body = metrics_.scrape();
  } else if (!guard_.admits(request.headers)) {
    response = door_error(401, "the admin API needs Authorization: Bearer <token>");
    response.headers.set("WWW-Authenticate", "Bearer");
  } else {
    response = answer_guarded(request);
  }
  co_await door_send(writer, std::move(response));
}

net::HttpResponse ActivatorDaemon::answer_guarded(const net::HttpRequest& request) {
  const bool is_table = request.path() == "/admin/v1/activations";
  if (is_table && request.method == "GET") return net::json_answer(200, to_json(state()));
  if (is_table && request.method == "PUT") return put_table(request.body);
  return door_error(404, "no such admin route: " + request.method + " " +
                             std::string(request.path().substr(0, 128)));
}

net::HttpResponse ActivatorDaemon::put_table(const std::string& text) {
  const auto read = [&]() -> Result<ActivationTable> {
    TRY(const Json json, parse_json(text, kTableLimits));
    return activation_table_from_json(json);
  };
  Result<ActivationTable> table = read();
  if (!table.ok()) return door_error(400, table.error().message);
  take(std::move(table).value());
  table_ = sha256_hex(text);
  return net::json_answer(200, to_json(state()));
}

void ActivatorDaemon::take(ActivationTable table) {
  std::set<std::string> ids;
  for (Activation& entry : table.entries) {
    const std::string id = entry.id;
    ids.insert(id);
    const auto known = lanes_.find(id);
    if (known != lanes_.end()) {
      known->second->update(std::move(entry));
      continue;
    }
    auto lane = std::make_shared<Lane>(setting_, std::move(entry));
    lane->open();
    if (draining_) lane->set_leaving();
    lanes_.emplace(id, std::move(lane));
  }
  for (auto it = lanes_.begin(); it != lanes_.end();) {
    if (ids.contains(it->first)) {
      ++it;
      continue;
    }
    total_of_gone_ += it->second->counts().total;
    tasks_.spawn(end_lane(std::move(it->second)));
    it = lanes_.erase(it);
  }
}

/// The object is gone, and nobody will answer what waits for it.
net::Task<void> ActivatorDaemon::end_lane(std::shared_ptr<Lane> lane) {
  lane->set_draining();
  lane->expire();
  co_await lane->drain(kLastWords);
}

void ActivatorDaemon::shut_down() {
  if (!draining_) {
    draining_ = true;
    tasks_.spawn(drain());
  } else {
    hurried_ = true;
  }
}

net::Task<void> ActivatorDaemon::drain() {
  log_info("activator is draining", {{"requests", room_.requests}});
  for (const auto& [id, lane] : lanes_) lane->set_leaving();
  const TimePoint grace = clock_.now() + options_.endpoint_grace;
  while (!hurried_ && clock_.now() < grace) co_await net::sleep_for(kLook);
  for (const auto& [id, lane] : lanes_) lane->set_draining();
  const TimePoint until = clock_.now() + options_.drain_timeout;
  while (!hurried_ && room_.requests > 0 && clock_.now() < until) co_await net::sleep_for(kLook);
  for (const auto& [id, lane] : lanes_) lane->expire();
  std::vector<std::shared_ptr<Lane>> lanes;
  for (const auto& [id, lane] : lanes_) lanes.push_back(lane);
  for (const auto& lane : lanes) co_await lane->drain(kLastWords);
  admin_server_->close();
  // This task is the last one.
  while (tasks_.running() > 1) co_await net::sleep_for(kLook);
  log_info("activator is done");
  context_.stop();
}

}  // namespace kantha::noded
