#pragma once

#include <functional>
#include <string>

#include "base/metrics.h"
#include "base/net/http_client.h"
#include "base/net/http_server.h"
#include "noded/api/service_sample.h"
#include "noded/gateway/access_log.h"
#include "noded/gateway/door_metrics.h"
#include "noded/gateway/door_route.h"
#include "noded/gateway/forwarder.h"
#include "noded/gateway/gatekeeper.h"
#include "noded/gateway/headed_writer.h"

/// The public routes of a pod: its own health pages, and a list of engine routes that are passed
/// on to whoever may use them (Gatekeeper). Everything that is not on the list is 404; the engine's
/// admin pages are not on it. One executor.
///
/// Every answer but those of the open pages carries x-request-id, is counted, and has its line in
/// the access log where that is on.
namespace kantha::noded {

struct DoorSettings {
  std::string pod;  ///< label of the metrics
  GateSettings gate;
  std::string access_log;  ///< off (or empty), stdout, or a file
};

class FrontDoor {
 public:
  FrontDoor(EngineGate& gate, Forwarder& forwarder, net::HttpClient& client,
            MetricRegistry& metrics, DoorSettings settings = {},
            const Clock& clock = system_clock());

  /// Reads the keys and opens the log. Errors name the flag, the file and the place in it.
  Status open();
  /// Says which requests come from another pod's door, which has let them in: they need no key and
  /// are charged to nobody here. Without it there are none.
  void set_peer_test(std::function<bool(const net::HttpRequest&)> test) {
    is_peer_ = std::move(test);
  }

  /// Answers one request of the public port.
  net::Task<void> answer(net::HttpRequest request, net::ResponseWriter& writer);
  /// GET /metrics: the engine's series, then the door's own.
  net::Task<net::HttpResponse> scrape();
  Gatekeeper& gatekeeper() { return gatekeeper_; }
  /// What this pod's own engine answered so far.
  const ServiceSample& sample() const { return sample_; }

 private:
  struct Visit;

  /// 200 while new requests are welcome.
  net::HttpResponse health() const;
  /// 503 only until an engine has been ready for the first time, with what it is doing.
  net::HttpResponse startup() const;
  net::HttpResponse open_page(const DoorRoute& route, const std::string& method) const;
  net::Task<void> answer_guarded(net::HttpRequest request, DoorRoute route,
                                 net::ResponseWriter& writer);
  net::Task<void> let_in(net::HttpRequest request, Visit& visit);
  void note(Visit& visit);
  GateMoment moment(const net::HttpRequest& request) const;
  void open_gauges(const std::string& pod);

  EngineGate& gate_;
  Forwarder& forwarder_;
  net::HttpClient& client_;
  MetricRegistry& metrics_;
  const Clock& clock_;
  std::string access_log_path_;
  Gatekeeper gatekeeper_;
  DoorMetrics door_metrics_;
  ServiceSample sample_;
  AccessLog access_log_;
  TraceIds ids_;
  std::function<bool(const net::HttpRequest&)> is_peer_;
};

}  // namespace kantha::noded
