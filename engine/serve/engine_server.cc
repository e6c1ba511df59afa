#include "engine/serve/engine_server.h"

#include "base/net/task.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/net/http_server.h"
#include "base/net/task_group.h"
#include "base/thread_priority.h"
#include "base/version.h"
#include "engine/serve/admin_guard.h"
#include "engine/serve/command_line.h"
#include "engine/serve/routes.h"
#include "engine/serve/serve_state.h"

namespace kantha::serve {
namespace {

constexpr int kComputeStandsBack = 5;
constexpr Duration kTick = std::chrono::seconds(1);
constexpr Duration kDrainTick = std::chrono::milliseconds(50);
/// For error events and last chunks to leave after the drain's time is up.
constexpr Duration kFarewell = std::chrono::seconds(2);

net::HttpHandler handler_for(ServeState* state, Door door) {
  return [state, door](net::HttpRequest request, net::ResponseWriter& writer) {
    return answer_request(state, door, std::move(request), writer);
  };
}

}  // namespace

struct EngineServer::Body {
  Body(EngineConfig config, BootFunction boot_function, const Clock& clock)
      : io(1),
        signals(io),
        state(std::move(config), clock, io.get_executor()),
        boot(std::move(boot_function)),
        wake(io.get_executor()),
        tcp(io.get_executor(), handler_for(&state, Door::kTcp)),
        local(io.get_executor(), handler_for(&state, Door::kUnix)),
        tasks(io.get_executor(), "engine server") {
    state.request_drain = [this] { start_drain(); };
    state.request_shutdown = [this] { on_shutdown(); };
  }

  void start_drain();
  void on_shutdown();
  void await_signal();
  net::Task<void> live_through();
  net::Task<bool> load();
  void adopt(ServedModel model);
  net::Task<void> serve();
  void watch_engine();
  net::Task<void> drain();
  void expire();

  boost::asio::io_context io;
  boost::asio::signal_set signals;
  ServeState state;
  BootFunction boot;
  net::Notify wake;
  net::HttpServer tcp;
  net::HttpServer local;
  net::TaskGroup tasks;
  std::vector<net::Endpoint> endpoints;
  StallWatch stall;
  bool booting = false;
  int shutdowns = 0;
  int exit_status = kExitOk;
};

EngineServer::EngineServer(EngineConfig config, BootFunction boot, const Clock& clock)
    : body_(std::make_unique<Body>(std::move(config), std::move(boot), clock)) {}

EngineServer::~EngineServer() {
  // The engine stops first: its last events are posted to an io_context that still exists.
  body_->state.model.reset();
}

Status EngineServer::listen() {
  ServeState& state = body_->state;
  if (!state.config.admin_token_path.empty()) {
    TRY(state.admin_token, read_admin_token(state.config.admin_token_path));
  }
  for (const net::Endpoint& endpoint : state.config.listen) {
    net::HttpServer& server = endpoint.is_unix() ? body_->local : body_->tcp;
    TRY(net::Endpoint bound, server.listen(endpoint));
    log_info("listening", {{"endpoint", bound.to_string()}});
    body_->endpoints.push_back(std::move(bound));
  }
  return ok_status();
}

const std::vector<net::Endpoint>& EngineServer::endpoints() const { return body_->endpoints; }

void EngineServer::handle_signals() {
  body_->signals.add(SIGTERM);
  body_->signals.add(SIGINT);
  body_->await_signal();
}

void EngineServer::shutdown() {
  boost::asio::post(body_->io, [body = body_.get()] { body->on_shutdown(); });
}

int EngineServer::run() {
  body_->tasks.spawn(body_->live_through());
  body_->io.run();
  return body_->exit_status;
}

void EngineServer::Body::await_signal() {
  signals.async_wait([this](const boost::system::error_code& error, int number) {
    if (error) return;
    log_info("signal", {{"number", number}});
    on_shutdown();
    await_signal();
  });
}

void EngineServer::Body::start_drain() {
  state.phase.set_draining();
  wake.notify();
}

void EngineServer::Body::on_shutdown() {
  ++shutdowns;
  // A boot cannot be interrupted, and nobody has been promised anything yet.
  if (shutdowns > 1 && booting) std::_Exit(kExitOk);
  start_drain();
}

/// The whole life of the server.
net::Task<void> EngineServer::Body::live_through() {
  const bool loaded = co_await load();
  if (loaded) {
    co_await serve();
    co_await drain();
  }
  signals.cancel();
  tcp.close();
  local.close();
}

/// The boot starts the threads that compute, and they inherit its priority: the I/O thread, which
/// works for microseconds, does not wait for the end of their time slices.
net::Task<bool> EngineServer::Body::load() {
  std::optional<Result<ServedModel>> result;
  std::function<void()> work = [this, &result] {
    lower_thread_priority(kComputeStandsBack);
    result.emplace(boot(state.phase));
  };
  booting = true;
  co_await state.bulk_worker.run(std::move(work));
  booting = false;
  if (!result->ok()) {
    log_error("the model cannot be served", {{"error", result->error().to_string()}});
    exit_status = kExitModel;
    co_return false;
  }
  adopt(std::move(*result).value());
  co_return true;
}

void EngineServer::Body::adopt(ServedModel model) {
  const gateway::EngineStats stats = model.engine->stats();
  state.metrics.open(model.name, {.block_size = stats.block_size,
                                  .blocks = stats.blocks_total,
                                  .prefix_caching = state.config.prefix_caching});
  open_routes(state.metrics);
  state.model = std::make_shared<const ServedModel>(std::move(model));
  state.phase.set_ready();
  log_info("engine ready", {{"model", state.model->name},
                            {"version", version()},
                            {"context", state.model->engine->limits().context_max},
                            {"kv_blocks", stats.blocks_total},
                            {"start_ms", state.phase.uptime_ms()}});
}

/// Ticks until somebody asks for the end.
net::Task<void> EngineServer::Body::serve() {
  while (shutdowns == 0) {
    watch_engine();
    co_await wake.wait(kTick);
  }
}

void EngineServer::Body::watch_engine() {
  const bool was_stalled = stall.stalled();
  const bool stalled = stall.observe(state.model->engine->stats(), state.clock.now());
  state.phase.set_stalled(stalled);
  if (stalled && !was_stalled) log_error("the engine has work and makes no progress");
}

net::Task<void> EngineServer::Body::drain() {
  const TimePoint started = state.clock.now();
  const Duration timeout = std::chrono::seconds(state.config.drain_timeout_s);
  log_info("draining",
           {{"requests", state.generations}, {"timeout_s", state.config.drain_timeout_s}});
  while (state.generations > 0 && shutdowns < 2 && state.clock.now() - started < timeout) {
    watch_engine();
    co_await wake.wait(kDrainTick);
  }
  expire();
  co_await tcp.drain(kFarewell);
  co_await local.drain(kFarewell);
  log_info("drained",
           {{"seconds", std::chrono::duration<double>(state.clock.now() - started).count()}});
}

/// Ends what the drain's time did not suffice for.
void EngineServer::Body::expire() {
  state.drain_expired = true;
  if (state.live.empty()) return;
  log_warn("ending requests that outlive the drain", {{"requests", state.live.size()}});
  const std::vector<LiveRequest*> open(state.live.begin(), state.live.end());
  for (LiveRequest* request : open) request->stop(StopCause::kDrainExpired);
}

}  // namespace kantha::serve
