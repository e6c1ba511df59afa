#include <string>
#include <utility>

#include <unistd.h>

#include "base/json.h"
#include "base/version.h"
#include "engine/serve/answers.h"
#include "engine/serve/routes.h"

namespace kantha::serve {
namespace {

OrderedJson kv_numbers(const gateway::EngineStats& stats) {
  OrderedJson json;
  json["blocks_total"] = stats.blocks_total;
  json["blocks_active"] = stats.blocks_active;
  json["blocks_cached"] = stats.blocks_cached;
  json["blocks_free"] = stats.blocks_free;
  json["block_size"] = stats.block_size;
  json["waiting_tokens"] = stats.waiting_tokens;
  json["pressure"] = stats.kv_pressure();
  return json;
}

void add_engine(const ServedModel& model, OrderedJson& json) {
  const gateway::EngineStats stats = model.engine->stats();
  json["model"] = model.name;
  json["max_model_len"] = model.engine->limits().context_max;
  json["kv"] = kv_numbers(stats);
  json["requests_running"] = stats.requests_running;
  json["requests_waiting"] = stats.requests_waiting;
  json["prompt_tokens_total"] = stats.prompt_tokens_total;
  json["generation_tokens_total"] = stats.generation_tokens_total;
  json["prefix_queries_total"] = stats.prefix_queries_total;
  json["prefix_hits_total"] = stats.prefix_hits_total;
  json["preemptions_total"] = stats.preemptions_total;
  json["steps_total"] = stats.steps_total;
}

}  // namespace

/// What the front door in the same pod reads once a second.
net::Task<void> get_admin_state(ServeState* state, net::HttpRequest, net::ResponseWriter& writer) {
  OrderedJson json;
  json["phase"] = phase_name(state->phase.phase());
  json["message"] = state->phase.stalled() ? "the engine makes no progress" : state->phase.step();
  json["version"] = version();
  json["config_hash"] = state->config.hash;
  json["pid"] = ::getpid();
  json["uptime_ms"] = state->phase.uptime_ms();
  json["streams"] = state->live.size();
  json["requests_total"] = state->requests_total;
  if (state->model) add_engine(*state->model, json);
  co_await send_json(writer, 200, dump_json(json));
}

/// New requests are refused from now on; running ones go on, and the process stays.
net::Task<void> post_admin_drain(ServeState* state, net::HttpRequest request,
                                 net::ResponseWriter& writer) {
  state->request_drain();
  co_await get_admin_state(state, std::move(request), writer);
}

/// As SIGTERM: drain, then exit.
net::Task<void> post_admin_shutdown(ServeState* state, net::HttpRequest request,
                                    net::ResponseWriter& writer) {
  state->request_shutdown();
  co_await get_admin_state(state, std::move(request), writer);
}

}  // namespace kantha::serve
