#include <string>
#include <utility>

#include <unistd.h>

#include "base/json.h"
#include "base/version.h"
#include "engine/serve/answers.h"
#include "engine/serve/routes.h"
#include "engine/text/vocabulary_digest.h"

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
  json["tokens_reserved"] = stats.kv_tokens_reserved;
  json["tokens_used"] = stats.kv_tokens_used;
  json["block_copies_total"] = stats.block_copies_total;
  return json;
}

/// What the queue takes and what is on its way to it.
OrderedJson queue_numbers(const ServeState& state, const gateway::EngineStats& stats) {
  OrderedJson json;
  json["requests_max"] = state.model->engine->limits().requests_queued_max;
  json["tokens_max"] = stats.prompt_tokens_queued_max;
  json["requests_preparing"] = state.requests_in_preparation;
  json["tokens_preparing"] = state.tokens_in_preparation;
  json["bytes_per_token"] = state.token_estimate.bytes_per_token();
  return json;
}

OrderedJson rate_numbers(const gateway::EngineStats& stats) {
  OrderedJson json;
  json["prefill_tokens_per_second"] = stats.prefill_tokens_per_second;
  json["step_tokens_budget"] = stats.step_tokens_budget;
  json["decode_step_seconds"] = stats.decode_step_seconds;
  json["step_seconds_total"] = stats.step_seconds_total;
  json["forward_seconds_total"] = stats.forward_seconds_total;
  return json;
}

OrderedJson quantiles(const LatencySketch& sketch, TimePoint now) {
  OrderedJson json;
  json["count"] = sketch.count(now);
  json["p50_ms"] = sketch.quantile(0.50, now) * 1000;
  json["p95_ms"] = sketch.quantile(0.95, now) * 1000;
  json["p99_ms"] = sketch.quantile(0.99, now) * 1000;
  return json;
}

/// Milliseconds since the engine last finished a step; null before the first one.
OrderedJson step_age_ms(const gateway::EngineStats& stats, TimePoint now) {
  if (stats.last_step == TimePoint{}) return nullptr;
  return std::chrono::duration<double, std::milli>(now - stats.last_step).count();
}

void add_engine(const ServeState& state, OrderedJson& json) {
  const gateway::EngineStats stats = state.model->engine->stats();
  const TimePoint now = state.clock.now();
  json["model"] = state.model->name;
  json["max_model_len"] = state.model->engine->limits().context_max;
  json["kv"] = kv_numbers(stats);
  json["queue"] = queue_numbers(state, stats);
  json["rates"] = rate_numbers(stats);
  json["ttft"] = quantiles(state.metrics.first_token(), now);
  json["itl"] = quantiles(state.metrics.inter_token(), now);
  json["last_step_age_ms"] = step_age_ms(stats, now);
  json["requests_running"] = stats.requests_running;
  json["requests_waiting"] = stats.requests_waiting;
  json["prompt_tokens_total"] = stats.prompt_tokens_total;
  json["generation_tokens_total"] = stats.generation_tokens_total;
  json["prefix_queries_total"] = stats.prefix_queries_total;
  json["prefix_hits_total"] = stats.prefix_hits_total;
  json["preemptions_total"] = stats.preemptions_total;
  json["recomputed_tokens_total"] = stats.recomputed_tokens_total;
  json["forks_total"] = stats.forks_total;
  json["shared_waits_total"] = stats.shared_waits_total;
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
  json["engine_restarts"] = state->config.restarts;
  if (!state->config.last_end.empty()) json["last_end"] = state->config.last_end;
  json["uptime_ms"] = state->phase.uptime_ms();
  json["streams"] = state->live.size();
  json["requests_total"] = state->requests_total;
  if (state->model) {
    if (state->tokenizer_hash.empty()) {
      state->tokenizer_hash = text::vocabulary_digest(state->model->tokenizer.vocabulary());
    }
    json["tokenizer_hash"] = state->tokenizer_hash;
    add_engine(*state, json);
  }
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
