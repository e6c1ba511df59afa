#include "operator/local/pod_admin.h"

#include <utility>

#include "base/json.h"

namespace kantha::local {
namespace {

constexpr Duration kAnswerWithin = std::chrono::seconds(2);
constexpr std::size_t kStateBytesMax = 1u << 20;

net::Task<Result<std::string>> exchange(net::HttpClient& client, std::string socket_path,
                                        net::HttpRequest request) {
  net::Endpoint endpoint;
  endpoint.unix_path = std::move(socket_path);
  const std::string target = request.target;
  Result<net::HttpResponse> response =
      co_await client.call(std::move(endpoint), std::move(request), kAnswerWithin, kStateBytesMax);
  if (!response.ok()) co_return std::move(response).error();
  if (response->status / 100 != 2) {
    co_return unavailable(target + " answered " + std::to_string(response->status));
  }
  co_return std::move(response->body);
}

net::Task<Status> send(net::HttpClient& client, std::string socket_path, std::string method,
                       std::string target, std::string body) {
  net::HttpRequest request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.headers.set("Content-Type", "application/json");
  request.body = std::move(body);
  Result<std::string> answer =
      co_await exchange(client, std::move(socket_path), std::move(request));
  if (!answer.ok()) co_return std::move(answer).error();
  co_return ok_status();
}

}  // namespace

net::Task<Result<noded::PodState>> get_pod_state(net::HttpClient& client, std::string socket_path) {
  net::HttpRequest request;
  request.target = "/admin/v1/state";
  Result<std::string> body = co_await exchange(client, std::move(socket_path), std::move(request));
  if (!body.ok()) co_return std::move(body).error();
  Result<Json> json = parse_json(*body);
  if (!json.ok()) co_return std::move(json).error().with_context("pod state");
  co_return noded::pod_state_from_json(*json);
}

net::Task<Status> post_drain(net::HttpClient& client, std::string socket_path) {
  return send(client, std::move(socket_path), "POST", "/admin/v1/drain", "{}");
}

net::Task<Status> post_restart_engine(net::HttpClient& client, std::string socket_path,
                                      std::string config_hash) {
  const Json body = {{"config_hash", std::move(config_hash)}};
  return send(client, std::move(socket_path), "POST", "/admin/v1/restart-engine", dump_json(body));
}

net::Task<Status> put_fleet_view(net::HttpClient& client, std::string socket_path,
                                 noded::FleetView view) {
  return send(client, std::move(socket_path), "PUT", "/admin/v1/fleet",
              dump_json(noded::to_json(view)));
}

}  // namespace kantha::local
