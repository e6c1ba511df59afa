#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "noded/api/pod_state.h"

/// What a pod says of itself with every answer to another pod: the header x-kantha-load. Plain
/// data; any thread.
namespace kantha::noded {

inline constexpr std::string_view kLoadHeader = "x-kantha-load";

struct PeerLoad {
  std::string pod;
  std::string model;
  EnginePhase phase = EnginePhase::kStarting;  ///< kReady: new requests are welcome
  std::int64_t running = 0;                    ///< requests that its engine works on
  double kv_pressure = 0;
  std::int64_t age_ms = 0;  ///< since its engine said so
  /// Since its first engine became ready; nothing: it does not say.
  std::optional<std::int64_t> ready_ms = {};
  bool operator==(const PeerLoad&) const = default;
};

/// "pod=a-0;model=m;phase=ready;running=3;pressure=0.125;age_ms=40;ready_ms=9000". Bytes of names
/// that would end a part are percent-encoded.
std::string load_text(const PeerLoad& load);

/// kInvalidArgument names the part: unknown phase, no number, a negative one, no pod, more than 1
/// KiB. Unknown parts are ignored.
Result<PeerLoad> load_from_text(std::string_view text);

}  // namespace kantha::noded
