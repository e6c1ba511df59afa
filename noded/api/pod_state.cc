#include "noded/api/pod_state.h"

#include <array>
#include <limits>
#include <optional>

#include "base/json_fields.h"

namespace kantha::noded {
namespace {

constexpr std::array kPhases = {
    EnginePhase::kStarting, EnginePhase::kReady,   EnginePhase::kBackoff, EnginePhase::kCrashLoop,
    EnginePhase::kDraining, EnginePhase::kStopped, EnginePhase::kFetching};

/// The counters, with their names on the wire.
struct CounterField {
  std::string_view name;
  std::int64_t PodState::* member;
};
constexpr std::array kCounters = {
    CounterField{"engine_pid", &PodState::engine_pid},
    CounterField{"engine_restarts", &PodState::engine_restarts},
    CounterField{"streams", &PodState::streams},
    CounterField{"requests_held", &PodState::requests_held},
    CounterField{"requests_total", &PodState::requests_total},
    CounterField{"streams_resumed", &PodState::streams_resumed},
    CounterField{"streams_broken", &PodState::streams_broken},
    CounterField{"kv_blocks_total", &PodState::kv_blocks_total},
    CounterField{"kv_blocks_active", &PodState::kv_blocks_active},
    CounterField{"kv_blocks_cached", &PodState::kv_blocks_cached},
    CounterField{"kv_blocks_free", &PodState::kv_blocks_free},
    CounterField{"waiting_tokens", &PodState::waiting_tokens},
    CounterField{"age_ms", &PodState::age_ms},
    CounterField{"api_keys", &PodState::api_keys},
};

struct TextField {
  std::string_view name;
  std::string PodState::* member;
};
constexpr std::array kTexts = {
    TextField{"pod", &PodState::pod},
    TextField{"model", &PodState::model},
    TextField{"version", &PodState::version},
    TextField{"message", &PodState::message},
    TextField{"engine_version", &PodState::engine_version},
    TextField{"config_hash", &PodState::config_hash},
    TextField{"told_config_hash", &PodState::told_config_hash},
    TextField{"tokenizer_hash", &PodState::tokenizer_hash},
    TextField{"api_keys_error", &PodState::api_keys_error},
};

struct NumberField {
  std::string_view name;
  double PodState::* member;
};
constexpr std::array kNumbers = {
    NumberField{"kv_pressure", &PodState::kv_pressure},
    NumberField{"tokens_per_second", &PodState::tokens_per_second},
};

Result<EnginePhase> phase_from_name(const std::string& name, const std::string& path) {
  std::string known;
  for (const EnginePhase phase : kPhases) {
    if (engine_phase_name(phase) == name) return phase;
    known += (known.empty() ? "" : ", ") + std::string(engine_phase_name(phase));
  }
  return invalid_argument("expected one of " + known + ", got \"" + name.substr(0, 60) + "\"",
                          path);
}

}  // namespace

std::string_view engine_phase_name(EnginePhase phase) {
  switch (phase) {
    case EnginePhase::kStarting: return "starting";
    case EnginePhase::kReady: return "ready";
    case EnginePhase::kBackoff: return "backoff";
    case EnginePhase::kCrashLoop: return "crash_loop";
    case EnginePhase::kDraining: return "draining";
    case EnginePhase::kStopped: return "stopped";
    case EnginePhase::kFetching: return "fetching";
  }
  return "unknown";
}

Json to_json(const PodState& state) {
  Json out = Json::object();
  out["phase"] = engine_phase_name(state.phase);
  out["draining"] = state.draining;
  out["asks_for_keys"] = state.asks_for_keys;
  for (const TextField& field : kTexts) out[field.name] = state.*field.member;
  for (const CounterField& field : kCounters) out[field.name] = state.*field.member;
  for (const NumberField& field : kNumbers) out[field.name] = state.*field.member;
  if (state.weights) out["weights"] = to_json(*state.weights);
  if (state.golden) out["golden"] = to_json(*state.golden);
  if (state.idle_ms >= 0) out["idle_ms"] = state.idle_ms;
  out["sample"] = to_json(state.sample);
  return out;
}

Result<PodState> pod_state_from_json(const Json& json) {
  const JsonFields fields(json, "");
  TRY_OK(fields.check_object());
  PodState out;
  TRY(const auto phase, fields.string("phase"));
  if (phase) {
    TRY(out.phase, phase_from_name(*phase, fields.path_of("phase")));
  }
  TRY(const auto draining, fields.boolean("draining"));
  out.draining = draining.value_or(false);
  TRY(const auto asks_for_keys, fields.boolean("asks_for_keys"));
  out.asks_for_keys = asks_for_keys.value_or(false);
  for (const TextField& field : kTexts) {
    TRY(auto text, fields.string(field.name));
    if (text) out.*field.member = std::move(*text);
  }
  for (const CounterField& field : kCounters) {
    TRY(const auto count, fields.integer(field.name, 0, std::numeric_limits<std::int64_t>::max()));
    if (count) out.*field.member = *count;
  }
  TRY(const auto idle_ms, fields.integer("idle_ms", 0, std::numeric_limits<std::int64_t>::max()));
  out.idle_ms = idle_ms.value_or(-1);
  for (const NumberField& field : kNumbers) {
    TRY(const auto number, fields.number(field.name, 0, std::numeric_limits<double>::max()));
    if (number) out.*field.member = *number;
  }
  if (const Json* weights = fields.find("weights")) {
    TRY(out.weights, weights_state_from_json(*weights, fields.path_of("weights")));
  }
  if (const Json* golden = fields.find("golden")) {
    TRY(out.golden, golden_state_from_json(*golden, fields.path_of("golden")));
  }
  if (const Json* sample = fields.find("sample")) {
    TRY(out.sample, service_sample_from_json(*sample));
  }
  return out;
}

}  // namespace kantha::noded
