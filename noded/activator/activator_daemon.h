#pragma once

#include <map>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "base/metrics.h"
#include "base/net/http_client.h"
#include "base/net/http_server.h"
#include "base/net/task_group.h"
#include "noded/activator/activator_options.h"
#include "noded/activator/lane.h"
#include "noded/gateway/admin_guard.h"
#include "noded/gateway/request_trace.h"

/// The activator: takes requests for objects that have no pod, holds them while one starts, and
/// passes them on. It knows of no Kubernetes: the operator tells it of which objects, at which port
/// of it their requests come and which pods there are, and reads from it who waits.
///
/// Admin API: GET /admin/v1/activations (ActivatorState), PUT (ActivationTable, then the same
/// answer); open: GET /live, /ready (503 while draining), /metrics.
/// End (SIGTERM, SIGINT): not ready at once → new requests are taken for the endpoint grace → what
/// is here is passed on or ends within the drain timeout, and gets 503 then. A second signal skips
/// the waiting. One io_context and one thread.
namespace kantha::noded {

class ActivatorDaemon {
 public:
  ActivatorDaemon(boost::asio::io_context& context, ActivatorOptions options, const Clock& clock);
  ~ActivatorDaemon();

  /// Binds the admin port; gives its endpoint.
  Result<net::Endpoint> start();
  void shut_down();
  ActivatorState state() const;

 private:
  net::Task<void> answer_admin(net::HttpRequest request, net::ResponseWriter& writer);
  net::HttpResponse answer_guarded(const net::HttpRequest& request);
  net::HttpResponse put_table(const std::string& text);
  void take(ActivationTable table);
  net::Task<void> end_lane(std::shared_ptr<Lane> lane);
  net::Task<void> drain();
  std::int64_t sum(std::int64_t DoorCounts::* member) const;
  void open_metrics();

  boost::asio::io_context& context_;
  ActivatorOptions options_;
  const Clock& clock_;
  MetricRegistry metrics_;
  net::HttpClient client_;
  AdminGuard guard_;
  AccessLog access_log_;
  TraceIds ids_;
  ActivatorRoom room_;
  LaneSetting setting_;
  std::map<std::string, std::shared_ptr<Lane>> lanes_;  ///< by id
  std::string table_;                                   ///< digest of what was told last
  std::int64_t total_of_gone_ = 0;                      ///< requests of lanes that are closed
  std::unique_ptr<net::HttpServer> admin_server_;
  net::TaskGroup tasks_;
  bool draining_ = false;
  bool hurried_ = false;
};

}  // namespace kantha::noded
