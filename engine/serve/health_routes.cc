#include <string>

#include <unistd.h>

#include "base/json.h"
#include "base/version.h"
#include "engine/api/openai_error.h"
#include "engine/serve/answers.h"
#include "engine/serve/routes.h"

// What probes and scrapers ask. Nothing here waits for the engine thread: its numbers are read from
// snapshots, so that a busy engine answers as fast as an idle one.
namespace kantha::serve {
namespace {

Error not_serving(std::string message, const char* reason) {
  Error error = unavailable(std::move(message));
  error.reason = reason;
  error.retry_after_ms = 1000;
  return error;
}

Error stalled_error() {
  return not_serving("the engine has work and makes no progress", "engine_stalled");
}

net::Task<void> send_phase(const ServeState& state, net::ResponseWriter& writer) {
  OrderedJson json;
  json["status"] = phase_name(state.phase.phase());
  co_await send_json(writer, 200, dump_json(json));
}

}  // namespace

/// 200 while the engine works, also when it drains or its queue is full; 503 while loading or
/// stalled.
net::Task<void> get_health(ServeState* state, net::HttpRequest, net::ResponseWriter& writer) {
  if (state->phase.stalled()) {
    co_await send_error(writer, stalled_error());
  } else if (!state->model) {
    Error error = not_serving("the model is loading: " + state->phase.step(), api::kReasonLoading);
    co_await send_error(writer, std::move(error));
  } else {
    co_await send_phase(*state, writer);
  }
}

/// 503 only when a restart would help.
net::Task<void> get_live(ServeState* state, net::HttpRequest, net::ResponseWriter& writer) {
  if (state->phase.stalled()) {
    co_await send_error(writer, stalled_error());
  } else {
    co_await send_phase(*state, writer);
  }
}

/// 200 when new requests are welcome.
net::Task<void> get_ready(ServeState* state, net::HttpRequest, net::ResponseWriter& writer) {
  Status admitted = state->phase.admit();
  if (!admitted.ok()) {
    Error error = std::move(admitted).error();
    co_await send_error(writer, std::move(error));
  } else if (state->phase.stalled()) {
    co_await send_error(writer, stalled_error());
  } else {
    co_await send_phase(*state, writer);
  }
}

/// 200 once the model has been loaded; until then 503 with what the boot is doing.
net::Task<void> get_startup(ServeState* state, net::HttpRequest, net::ResponseWriter& writer) {
  OrderedJson json;
  json["status"] = phase_name(state->phase.phase());
  const LoadProgress progress = state->phase.progress();
  json["step"] = progress.step;
  json["step_index"] = progress.index;
  json["step_count"] = progress.count;
  json["done"] = progress.done;
  json["total"] = progress.total;
  json["unit"] = progress.unit;
  json["elapsed_ms"] = state->phase.uptime_ms();
  co_await send_json(writer, state->model ? 200 : 503, dump_json(json));
}

net::Task<void> get_version(ServeState* state, net::HttpRequest, net::ResponseWriter& writer) {
  OrderedJson json;
  json["version"] = version();
  json["config_hash"] = state->config.hash;
  co_await send_json(writer, 200, dump_json(json));
}

net::Task<void> get_metrics(ServeState* state, net::HttpRequest, net::ResponseWriter& writer) {
  std::string text;
  if (state->model) {
    const gateway::EngineStats stats = state->model->engine->stats();
    text = state->metrics.scrape(&stats, state->door_numbers());
  } else {
    text = state->metrics.scrape(nullptr, state->door_numbers());
  }
  co_await send_text(writer, 200, std::move(text));
}

}  // namespace kantha::serve
