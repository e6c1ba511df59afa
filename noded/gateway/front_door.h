#pragma once

#include <string>

#include "base/metrics.h"
#include "base/net/http_client.h"
#include "base/net/http_server.h"
#include "noded/gateway/forwarder.h"

/// The public routes of a pod: its own health pages, and a list of engine routes that are passed
/// on. Everything that is not on the list is 404; the engine's admin pages are not on it. One
/// executor.
namespace kantha::noded {

class FrontDoor {
 public:
  FrontDoor(EngineGate& gate, Forwarder& forwarder, net::HttpClient& client,
            MetricRegistry& metrics);

  /// Answers one request of the public port.
  net::Task<void> answer(net::HttpRequest request, net::ResponseWriter& writer);
  /// GET /metrics: the engine's series, then the door's own.
  net::Task<net::HttpResponse> scrape();

 private:
  /// 200 while new requests are welcome.
  net::HttpResponse health() const;
  /// 503 only until an engine has been ready for the first time, with what it is doing.
  net::HttpResponse startup() const;

  EngineGate& gate_;
  Forwarder& forwarder_;
  net::HttpClient& client_;
  MetricRegistry& metrics_;
};

/// Where a path leads; pure.
enum class DoorRoute : std::uint8_t {
  kUnknown,
  kLive,
  kHealth,
  kStartup,
  kVersion,
  kMetrics,
  kForward
};
DoorRoute door_route(std::string_view path);

}  // namespace kantha::noded
