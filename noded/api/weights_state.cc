#include "noded/api/weights_state.h"

#include <array>
#include <limits>

#include "base/json_fields.h"

namespace kantha::noded {
namespace {

constexpr std::array kPhases = {WeightsPhase::kWaiting, WeightsPhase::kFetching,
                                WeightsPhase::kVerifying, WeightsPhase::kReady,
                                WeightsPhase::kFailed};

}  // namespace

std::string_view weights_phase_name(WeightsPhase phase) {
  switch (phase) {
    case WeightsPhase::kWaiting: return "waiting";
    case WeightsPhase::kFetching: return "fetching";
    case WeightsPhase::kVerifying: return "verifying";
    case WeightsPhase::kReady: return "ready";
    case WeightsPhase::kFailed: return "failed";
  }
  return "unknown";
}

Json to_json(const WeightsState& state) {
  return {{"phase", weights_phase_name(state.phase)},
          {"bytes_done", state.bytes_done},
          {"bytes_total", state.bytes_total},
          {"source", state.source},
          {"message", state.message}};
}

Result<WeightsState> weights_state_from_json(const Json& json, const std::string& path) {
  const JsonFields fields(json, path);
  TRY_OK(fields.check_object());
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  WeightsState out;
  TRY(const auto phase, fields.string("phase"));
  TRY(const auto done, fields.integer("bytes_done", 0, kMax));
  TRY(const auto total, fields.integer("bytes_total", 0, kMax));
  TRY(auto source, fields.string("source"));
  TRY(auto message, fields.string("message"));
  bool known = !phase;
  for (const WeightsPhase candidate : kPhases) {
    if (!phase || weights_phase_name(candidate) != *phase) continue;
    out.phase = candidate;
    known = true;
  }
  if (!known) {
    return invalid_argument("unknown phase \"" + phase->substr(0, 60) + "\"",
                            fields.path_of("phase"));
  }
  out.bytes_done = done.value_or(0);
  out.bytes_total = total.value_or(0);
  out.source = std::move(source).value_or("");
  out.message = std::move(message).value_or("");
  return out;
}

}  // namespace kantha::noded
