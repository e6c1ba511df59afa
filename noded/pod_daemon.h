#pragma once

#include <memory>

#include <boost/asio/io_context.hpp>

#include "base/metrics.h"
#include "base/net/http_client.h"
#include "base/net/http_server.h"
#include "base/net/task_group.h"
#include "noded/engine/engine_keeper.h"
#include "noded/engine/golden_run.h"
#include "noded/engine_change.h"
#include "noded/fleet/fleet_router.h"
#include "noded/fleet/hop_door.h"
#include "noded/gateway/admin_guard.h"
#include "noded/gateway/forwarder.h"
#include "noded/gateway/front_door.h"
#include "noded/options.h"
#include "noded/pod_devices.h"
#include "noded/pod_weights.h"
#include "noded/prefix_handover.h"
#include "noded/prefix_warmup.h"

/// One pod's daemon: engine keeper, front door and admin pages on one io_context and one thread.
///
/// Start: admin → public port → weights, when there are any to bring → engine. End (SIGTERM, SIGINT
/// or POST /admin/v1/drain): not ready at once → its hottest prompts are handed over, while new
/// requests are taken for the endpoint grace → running requests finish within the drain timeout →
/// an engine that is our child is stopped → exit. A second signal skips the waiting.
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
  PodState state();

 private:
  void open_metrics();
  void bring_config();
  net::Task<void> run_engine();
  void set_queue_bound(std::string_view config_text);
  net::Task<void> answer_admin(net::HttpRequest request, net::ResponseWriter& writer);
  net::HttpResponse answer_change(const std::string& path, net::HttpRequest request);
  net::HttpResponse put_config(std::string text);
  net::HttpResponse put_fleet(const std::string& text);
  void join_fleet();
  PeerLoad own_load() const;
  std::unique_ptr<net::HttpServer> door_for(DoorKind kind);
  void leave_gpu(std::string why);
  net::Task<void> stop_engine();
  net::Task<void> drain();
  void hand_prompts_over();
  net::Task<bool> have_computed(net::HttpRequest request);
  net::Task<void> take_requests_for_the_grace();
  net::Task<void> finish_running_requests();

  boost::asio::io_context& context_;
  Options options_;
  const Clock& clock_;
  MetricRegistry metrics_;
  net::HttpClient client_;
  PodDevices devices_;
  std::unique_ptr<EngineKeeper> keeper_;
  PodWeights weights_;
  PrefixWarmup warmup_;  ///< the engine as the door sees it
  PrefixHandover handover_;
  AdminGuard guard_;
  HopSeal seal_;
  FleetRouter router_;
  GoldenRun golden_;
  Forwarder forwarder_;
  FrontDoor door_;
  HopDoor hop_door_;
  EngineChange change_;
  std::unique_ptr<net::HttpServer> public_server_;
  std::unique_ptr<net::HttpServer> peer_server_;  ///< null: peers come to the public one
  std::unique_ptr<net::HttpServer> admin_server_;
  net::TaskGroup tasks_;
  std::optional<std::string> early_config_;  ///< pushed before the weights were there
  std::string left_gpu_;  ///< why this pod's engine was stopped for good; empty: it was not
  bool draining_ = false;
  bool hurried_ = false;
};

}  // namespace kantha::noded
