#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

/// Body of PUT /admin/v1/fleet: which pods of one ModelServing a pod may send requests to. The
/// operator (of either world) tells it; loads are no part of it, the pods tell each other.
namespace kantha::noded {

/// One pod whose door takes requests of others.
struct FleetPeer {
  std::string name;      ///< of the pod; its own name marks the pod that is told
  std::string endpoint;  ///< "10.0.0.7:8000", or "unix:/…" in the local world
  std::string model;     ///< served name; peers with another one are never sent to
  std::string revision;  ///< short, for people
  bool operator==(const FleetPeer&) const = default;
};

struct FleetView {
  /// Unix time in milliseconds at which the teller knew this. Views of one pod must rise in it.
  std::int64_t observed_at_ms = 0;
  std::vector<FleetPeer> peers;
  bool operator==(const FleetView&) const = default;
};

/// More pods than this in one view are refused.
inline constexpr std::size_t kFleetPeersMax = 1000;

Json to_json(const FleetView& view);
/// kInvalidArgument with the field's path: a wrong type, no observed_at_ms, a peer without name or
/// endpoint, a name twice, a text longer than 253 bytes, more than kFleetPeersMax peers.
Result<FleetView> fleet_view_from_json(const Json& json);

}  // namespace kantha::noded
