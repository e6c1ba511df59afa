#pragma once

#include <string>

#include "base/net/http_client.h"
#include "base/net/task.h"
#include "noded/api/fleet_view.h"
#include "noded/api/pod_state.h"

/// noded's admin API from the caller's side. One executor.
namespace kantha::local {

/// GET /admin/v1/state, within two seconds. kUnavailable: nobody answers; kDataLoss: not a state.
net::Task<Result<noded::PodState>> get_pod_state(net::HttpClient& client, std::string socket_path);

/// POST /admin/v1/drain. A second one means "now", so send it once.
net::Task<Status> post_drain(net::HttpClient& client, std::string socket_path);

/// POST /admin/v1/restart-engine with the hash of the configuration file to read again.
net::Task<Status> post_restart_engine(net::HttpClient& client, std::string socket_path,
                                      std::string config_hash);

/// PUT /admin/v1/fleet.
net::Task<Status> put_fleet_view(net::HttpClient& client, std::string socket_path,
                                 noded::FleetView view);

}  // namespace kantha::local
