#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/net/http_client.h"
#include "base/net/http_server.h"
#include "noded/activator/activator_room.h"
#include "noded/activator/pod_rotation.h"
#include "noded/api/activation.h"
#include "noded/gateway/access_log.h"
#include "noded/gateway/api_keys.h"
#include "noded/gateway/door_route.h"
#include "noded/gateway/forwarder.h"
#include "noded/gateway/headed_writer.h"

namespace kantha::noded {

/// What the lanes of one activator share; outlives them.
struct LaneSetting {
  boost::asio::any_io_executor executor;
  const Clock& clock;
  net::HttpClient& client;
  ActivatorRoom& room;
  AccessLog& access_log;
  TraceIds& ids;
  std::string host;  ///< where lanes listen
  ForwardPolicy policy;
};

/// The door of one object in the activator: a port of its own, so that whatever Host and model a
/// client names, it is known whose request it is.
///
/// A request that has a listed route and, where keys are asked for, a listed key is held until a
/// pod is there, and passed on as it came: rates, tenants and models are the pod's door's business,
/// which sees the key, too. Streams go on at the next pod as at any door. Every answer ends its
/// connection, so that the client's next request finds the pods themselves.
/// Beyond the room, and after the hold time: 503 with Retry-After. Probes are answered here, and
/// wake nobody; so are scrapes of metrics, with 503. One executor.
class Lane {
 public:
  Lane(const LaneSetting& setting, Activation told);
  ~Lane();

  /// Listens. Errors stay in state().
  void open();
  /// The same object (id), told anew. Another port: the old one is closed when the new one is open.
  void update(Activation told);
  LaneState state() const;
  const DoorCounts& counts() const { return forwarder_.counts(); }

  void set_leaving() { forwarder_.set_leaving(); }
  void set_draining() { forwarder_.set_draining(); }
  /// What is still here is told that it ends.
  void expire() { forwarder_.expire(); }
  /// Listens no more, and waits for the answers that are under way.
  net::Task<void> drain(Duration timeout);

 private:
  net::Task<void> answer(net::HttpRequest request, net::ResponseWriter& client);
  net::Task<void> let_in(net::HttpRequest request, HeadedWriter& writer, AccessEntry& entry);
  /// The answer to a request that is not let in.
  std::optional<net::HttpResponse> refusal(const net::HttpRequest& request, const DoorRoute& route,
                                           AccessEntry& entry) const;
  std::optional<net::HttpResponse> key_refusal(const net::HttpRequest& request,
                                               AccessEntry& entry) const;
  void read_keys();

  const LaneSetting& setting_;
  Activation told_;
  std::optional<ApiKeys> keys_;
  std::string keys_error_;
  PodRotation pods_;
  Forwarder forwarder_;
  std::unique_ptr<net::HttpServer> server_;
  std::vector<std::unique_ptr<net::HttpServer>> left_;  ///< on earlier ports
  std::int64_t port_ = 0;
  std::string listen_error_;
};

}  // namespace kantha::noded
