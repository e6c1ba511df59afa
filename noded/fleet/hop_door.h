#pragma once

#include "base/net/http_server.h"
#include "noded/fleet/fleet_router.h"
#include "noded/fleet/hop_seal.h"

/// The first thing behind the public port: tells requests of other pods from those of clients.
///
/// A request with a good seal (hop_seal.h) goes on with x-kantha-hop, so that it is answered here
/// and asked for no key again; its answer carries x-kantha-load. One that this pod has no use for
/// now is refused at once instead of being held, so that its sender finds another. From anything
/// else x-kantha-hop and x-kantha-tenant are taken away. One executor.
namespace kantha::noded {

/// Who can reach the door.
enum class DoorKind : std::uint8_t {
  kPublic,  ///< anybody: the seal decides
  kPeers,   ///< only pods of this world, by a Unix socket of mode 0600
};

class HopDoor {
 public:
  HopDoor(const FleetRouter& router, const HopSeal& seal, net::HttpHandler inner)
      : router_(router), seal_(seal), inner_(std::move(inner)) {}

  net::Task<void> answer(net::HttpRequest request, net::ResponseWriter& writer, DoorKind kind);
  /// Requests whose seal was not good.
  std::int64_t forged() const { return forged_; }

 private:
  bool came_from_peer(const net::HttpRequest& request, DoorKind kind);
  net::Task<void> answer_peer(net::HttpRequest request, net::ResponseWriter& writer);

  const FleetRouter& router_;
  const HopSeal& seal_;
  net::HttpHandler inner_;
  std::int64_t forged_ = 0;
};

}  // namespace kantha::noded
