#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "noded/api/golden_state.h"
#include "noded/api/service_sample.h"
#include "noded/api/weights_state.h"

/// The admin API's wire types, shared by noded (which fills them) and the operator (which reads
/// them). Plain structs and their JSON; unknown fields are ignored, missing ones keep their
/// defaults.
namespace kantha::noded {

/// Where a pod's engine stands.
enum class EnginePhase : std::uint8_t {
  kStarting,   ///< process started, not ready yet
  kReady,      ///< answers and may be routed to
  kBackoff,    ///< ended; waits before the next start
  kCrashLoop,  ///< the breaker is open: 3 ends in 10 minutes
  kDraining,   ///< no new requests
  kStopped,
  kFetching,  ///< no engine yet: noded brings the weights
};

std::string_view engine_phase_name(EnginePhase phase);

/// Body of GET /admin/v1/state.
struct PodState {
  std::string pod;
  std::string model;
  std::string version;  ///< noded's build
  EnginePhase phase = EnginePhase::kStarting;
  std::string message;  ///< why the phase is what it is, for people
  std::string engine_version;
  std::string config_hash;  ///< SHA-256 of the engine config that the engine runs
  /// SHA-256 of the engine config that this pod was told last: what config_hash is to become.
  std::string told_config_hash;
  /// SHA-256 of the engine's vocabulary and chat template; empty: not known.
  std::string tokenizer_hash;
  bool draining = false;  ///< the pod leaves; it still answers what runs
  std::int64_t engine_pid = 0;
  std::int64_t engine_restarts = 0;
  std::int64_t streams = 0;        ///< requests in flight through this door, held ones included
  std::int64_t requests_held = 0;  ///< of those, waiting for an engine
  std::int64_t requests_total = 0;
  /// Since the last request ended, or since this noded started; 0 while one runs or waits; -1: not
  /// said.
  std::int64_t idle_ms = -1;
  bool asks_for_keys = false;  ///< clients of the public port need an API key
  std::int64_t api_keys = 0;   ///< that are listed
  /// Why the file of keys as it is now is not in use; empty while it is.
  std::string api_keys_error;
  std::int64_t streams_resumed = 0;  ///< went on after their engine's end
  std::int64_t streams_broken = 0;   ///< ended with an error event after it
  std::int64_t kv_blocks_total = 0;
  std::int64_t kv_blocks_active = 0;
  std::int64_t kv_blocks_cached = 0;
  std::int64_t kv_blocks_free = 0;
  std::int64_t waiting_tokens = 0;
  double kv_pressure = 0;
  double tokens_per_second = 0;              ///< generation, over the last seconds
  std::int64_t age_ms = 0;                   ///< age of the engine's numbers
  std::optional<WeightsState> weights = {};  ///< when noded brings them
  std::optional<GoldenState> golden = {};    ///< where it has golden prompts
  ServiceSample sample = {};                 ///< what the engine of this pod answered
};

Json to_json(const PodState& state);
/// kInvalidArgument with the field's path on wrong types.
Result<PodState> pod_state_from_json(const Json& json);

}  // namespace kantha::noded
