#pragma once

#include <memory>

#include <boost/asio/io_context.hpp>

#include "base/metrics.h"
#include "base/net/http_client.h"
#include "base/net/http_server.h"
#include "base/net/task_group.h"
#include "noded/engine/supervisor.h"
#include "noded/gateway/forwarder.h"
#include "noded/gateway/front_door.h"
#include "noded/options.h"

/// One pod's daemon: supervisor, front door and admin pages on one io_context and one thread.
///
/// Start: admin → public port → engine. End (SIGTERM, SIGINT or POST /admin/v1/drain): not ready at
/// once → running requests finish within the drain timeout → engine stopped → exit. A second signal
/// skips the waiting.
namespace kantha::noded {

class PodDaemon {
 public:
  PodDaemon(boost::asio::io_context& context, Options options, const Clock& clock);
  ~PodDaemon();

  /// Binds both ports and starts everything. Errors name the endpoint.
  Status start();
  /// Begins the end; the second call skips the waiting.
  void shut_down();
  /// What GET /admin/v1/state says.
  PodState state() const;

 private:
  net::Task<void> answer_admin(net::HttpRequest request, net::ResponseWriter& writer);
  net::Task<void> drain();
  net::Task<void> restart_engine();
  void publish_metrics();

  boost::asio::io_context& context_;
  Options options_;
  const Clock& clock_;
  MetricRegistry metrics_;
  net::HttpClient client_;
  Supervisor supervisor_;
  Forwarder forwarder_;
  FrontDoor door_;
  std::unique_ptr<net::HttpServer> public_server_;
  std::unique_ptr<net::HttpServer> admin_server_;
  net::TaskGroup tasks_;
  bool draining_ = false;
  bool hurried_ = false;
  bool restarting_ = false;
  bool restart_again_ = false;
};

}  // namespace kantha::noded
