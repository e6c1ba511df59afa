#include "noded/pod_daemon.h"

#include <algorithm>

#include "base/json.h"
#include "base/log.h"
#include "base/version.h"
#include "noded/gateway/door_error.h"

namespace kantha::noded {
namespace {

SupervisePolicy policy_for(const Options& options) {
  SupervisePolicy policy;
  // The engine drains by itself on SIGTERM; it gets that time and some more before SIGKILL.
  policy.stop_timeout =
      std::min<Duration>(options.drain_timeout, std::chrono::seconds(30)) + std::chrono::seconds(5);
  return policy;
}

ForwardPolicy forward_policy_for(const Options& options) {
  ForwardPolicy policy;
  policy.hold_timeout = options.hold_timeout;
  return policy;
}

net::HttpResponse json_answer(int status, const Json& body) {
  net::HttpResponse response;
  response.status = status;
  response.headers.set("Content-Type", "application/json");
  response.body = dump_json(body);
  return response;
}

}  // namespace

PodDaemon::PodDaemon(boost::asio::io_context& context, Options options, const Clock& clock)
    : context_(context),
      options_(std::move(options)),
      clock_(clock),
      client_(context.get_executor()),
      supervisor_(context.get_executor(),
                  EngineLaunch{options_.engine_binary, options_.engine_config,
                               options_.engine_socket, options_.engine_log},
                  policy_for(options_), clock, client_),
      forwarder_(context.get_executor(), supervisor_, client_, forward_policy_for(options_), clock),
      door_(supervisor_, forwarder_, client_, metrics_),
      tasks_(context.get_executor(), "pod") {}

PodDaemon::~PodDaemon() = default;

Status PodDaemon::start() {
  publish_metrics();
  admin_server_ = std::make_unique<net::HttpServer>(
      context_.get_executor(), [this](net::HttpRequest request, net::ResponseWriter& writer) {
        return answer_admin(std::move(request), writer);
      });
  public_server_ = std::make_unique<net::HttpServer>(
      context_.get_executor(), [this](net::HttpRequest request, net::ResponseWriter& writer) {
        return door_.answer(std::move(request), writer);
      });
  TRY(const net::Endpoint admin, admin_server_->listen(options_.admin));
  TRY(const net::Endpoint open, options_.listen_fd >= 0 ? public_server_->adopt(options_.listen_fd)
                                                        : public_server_->listen(options_.listen));
  log_info("pod is up",
           {{"pod", options_.pod}, {"listen", open.to_string()}, {"admin", admin.to_string()}});
  tasks_.spawn(supervisor_.run());
  return ok_status();
}

void PodDaemon::publish_metrics() {
  const auto gauge = [this](const char* name, const char* help, std::function<double()> read) {
    metrics_.gauge(name, help, {{"pod", options_.pod}}, std::move(read));
  };
  const auto counter = [this](const char* name, const char* help, std::function<double()> read) {
    metrics_.counter(name, help, {{"pod", options_.pod}}, std::move(read));
  };
  const DoorCounts& counts = forwarder_.counts();
  gauge("kantha_noded_requests_in_flight", "Requests being answered",
        [&counts] { return static_cast<double>(counts.in_flight); });
  gauge("kantha_noded_requests_held", "Requests that wait for an engine",
        [&counts] { return static_cast<double>(counts.held); });
  counter("kantha_noded_requests_total", "Requests that reached the door",
          [&counts] { return static_cast<double>(counts.total); });
  counter("kantha_noded_requests_retried_total", "Requests sent to an engine again",
          [&counts] { return static_cast<double>(counts.retried); });
  counter("kantha_noded_streams_broken_total", "Streams whose engine ended",
          [&counts] { return static_cast<double>(counts.broken_streams); });
  gauge("kantha_noded_engine_ready", "1 when the engine may be used",
        [this] { return supervisor_.ready() ? 1.0 : 0.0; });
  counter("kantha_noded_engine_restarts_total", "Engine starts after the first one",
          [this] { return static_cast<double>(supervisor_.state().restarts); });
}

PodState PodDaemon::state() const {
  PodState state;
  state.pod = options_.pod;
  state.model = options_.model;
  state.version = version();
  state.phase = forwarder_.draining() ? EnginePhase::kDraining : supervisor_.phase();
  state.message = supervisor_.message();
  state.config_hash = supervisor_.config_hash();
  state.engine_pid = supervisor_.pid();
  state.engine_restarts = supervisor_.state().restarts;
  state.streams = forwarder_.counts().in_flight;
  state.requests_total = forwarder_.counts().total;
  const EngineReport& report = supervisor_.report();
  state.engine_version = report.version;
  state.kv_blocks_total = report.blocks_total;
  state.kv_blocks_active = report.blocks_active;
  state.kv_blocks_cached = report.blocks_cached;
  state.kv_blocks_free = report.blocks_free;
  state.waiting_tokens = report.waiting_tokens;
  state.kv_pressure = report.kv_pressure;
  state.tokens_per_second = supervisor_.tokens_per_second();
  if (const std::optional<TimePoint> taken = supervisor_.report_taken()) {
    state.age_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - *taken).count();
  }
  return state;
}

net::Task<void> PodDaemon::answer_admin(net::HttpRequest request, net::ResponseWriter& writer) {
  const std::string path(request.path());
  const bool get = request.method == "GET";
  const bool post = request.method == "POST";
  net::HttpResponse response;
  if (path == "/admin/v1/state" && get) {
    response = json_answer(200, to_json(state()));
  } else if (path == "/metrics" && get) {
    response = co_await door_.scrape();
  } else if (path == "/admin/v1/drain" && post) {
    shut_down();
    response = json_answer(202, {{"draining", true}});
  } else if (path == "/admin/v1/restart-engine" && post) {
    if (draining_) {
      response = door_error(409, "this pod is draining");
    } else {
      if (restarting_) restart_again_ = true;
      if (!restarting_) tasks_.spawn(restart_engine());
      response = json_answer(202, {{"restarting", true}});
    }
  } else {
    response = door_error(404, "no such admin route: " + request.method + " " + path);
  }
  co_await door_send(writer, std::move(response));
}

net::Task<void> PodDaemon::restart_engine() {
  restarting_ = true;
  do {
    restart_again_ = false;
    forwarder_.set_holding(true);
    const bool idle = co_await forwarder_.wait_idle(options_.drain_timeout);
    if (!idle) log_warn("engine is replaced under running requests", {{"pod", options_.pod}});
    supervisor_.request_restart();
    co_await net::sleep_for(2 * kSuperviseTick);
    forwarder_.set_holding(false);
    co_await supervisor_.wait_ready(std::chrono::minutes(2));
  } while (restart_again_ && !draining_);
  restarting_ = false;
}

void PodDaemon::shut_down() {
  if (!draining_) {
    draining_ = true;
    tasks_.spawn(drain());
  } else if (!hurried_) {
    hurried_ = true;
    public_server_->close();
    supervisor_.stop();
    supervisor_.hurry();
  }
}

net::Task<void> PodDaemon::drain() {
  log_info("pod is draining", {{"pod", options_.pod}, {"streams", forwarder_.counts().in_flight}});
  // The shared socket goes on in other pods; what is already on our connections is refused
  // politely.
  public_server_->stop_accepting();
  forwarder_.set_draining();
  co_await public_server_->drain(options_.drain_timeout);
  supervisor_.stop();
  const TimePoint until = clock_.now() + std::chrono::seconds(60);
  while (supervisor_.phase() != EnginePhase::kStopped && clock_.now() < until) {
    co_await net::sleep_for(kSuperviseTick);
  }
  log_info("pod is done", {{"pod", options_.pod}});
  admin_server_->close();
  public_server_->close();
  co_await net::sleep_for(kSuperviseTick);
  context_.stop();
}

}  // namespace kantha::noded
