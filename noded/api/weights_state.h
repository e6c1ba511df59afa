#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

/// How far a pod is with the weights that its noded brings. Plain data and its JSON.
namespace kantha::noded {

enum class WeightsPhase : std::uint8_t {
  kWaiting,    ///< another process of this node downloads the same file
  kFetching,   ///< bytes come, or the next try is due soon
  kVerifying,  ///< bytes that are there are read for their digest
  kReady,      ///< in the cache, whole, and held in use
  kFailed,     ///< no address has them, or there is no room; tried again after minutes
};

std::string_view weights_phase_name(WeightsPhase phase);

/// Object "weights" of GET /admin/v1/state.
struct WeightsState {
  WeightsPhase phase = WeightsPhase::kFetching;
  std::int64_t bytes_done = 0;
  std::int64_t bytes_total = 0;  ///< 0: not known yet
  std::string source;            ///< the address, without its query
  std::string message;           ///< for people
  bool operator==(const WeightsState&) const = default;
};

Json to_json(const WeightsState& state);
/// kInvalidArgument with the field's path on wrong types; `path` is where the object stands.
Result<WeightsState> weights_state_from_json(const Json& json, const std::string& path);

}  // namespace kantha::noded
