#include "operator/cluster/pod_door.h"

#include <unordered_map>
#include <utility>

#include "operator/cluster/admin_secret.h"
#include "operator/serving/children.h"

namespace kantha::cluster {
namespace {

constexpr Duration kAnswerWithin = std::chrono::seconds(2);
constexpr std::size_t kStateBytesMax = 1u << 20;
constexpr std::size_t kTokensMax = 20'000;  ///< then all are forgotten and read again

}  // namespace

struct HttpPodDoor::Body {
  Body(boost::asio::any_io_executor executor, kube::ApiClient& client, std::uint16_t port)
      : http(std::move(executor)), client(client), port(port) {}

  net::Task<Result<std::string>> token_of(PodAddress pod) {
    const auto known = tokens.find(pod.serving_uid);
    if (known != tokens.end()) co_return known->second;
    const kube::ObjectKey key{pod.pod.name_space, serving::admin_secret_name(pod.serving)};
    Result<Json> secret = co_await client.get(kube::kSecrets, key);
    if (!secret.ok()) co_return std::move(secret).error();
    Result<std::string> token = admin_token_of(*secret, pod.serving_uid);
    if (!token.ok()) co_return std::move(token).error();
    if (tokens.size() >= kTokensMax) tokens.clear();
    tokens[pod.serving_uid] = *token;
    co_return token;
  }

  net::Task<Result<net::HttpResponse>> try_once(PodAddress pod, net::HttpRequest request) {
    Result<std::string> token = co_await token_of(pod);
    if (!token.ok()) co_return std::move(token).error();
    request.headers.set("Authorization", "Bearer " + *token);
    co_return co_await http.call(net::Endpoint{pod.ip, port, {}}, std::move(request), kAnswerWithin,
                                 kStateBytesMax);
  }

  net::Task<Result<std::string>> exchange(PodAddress pod, net::HttpRequest request) {
    if (pod.ip.empty()) co_return unavailable(pod.pod.to_string() + " has no address yet");
    Result<net::HttpResponse> answer = co_await try_once(pod, request);
    if (answer.ok() && answer->status == 401) {
      // The Secret may have been replaced since its token was read.
      tokens.erase(pod.serving_uid);
      answer = co_await try_once(pod, request);
    }
    if (!answer.ok()) co_return std::move(answer).error().with_context(pod.pod.to_string());
    if (answer->status / 100 == 2) co_return std::move(answer->body);
    const Code code = answer->status == 401 ? Code::kUnauthenticated : Code::kUnavailable;
    co_return Error{code, pod.pod.to_string() + ": " + request.method + " " + request.target +
                              " answered " + std::to_string(answer->status)};
  }

  net::Task<Status> put(PodAddress pod, std::string target, std::string json) {
    net::HttpRequest request;
    request.method = "PUT";
    request.target = std::move(target);
    request.headers.set("Content-Type", "application/json");
    request.body = std::move(json);
    Result<std::string> answer = co_await exchange(std::move(pod), std::move(request));
    if (!answer.ok()) co_return std::move(answer).error();
    co_return ok_status();
  }

  net::HttpClient http;
  kube::ApiClient& client;
  std::uint16_t port;
  std::unordered_map<std::string, std::string> tokens;  ///< by uid of the ModelServing
};

HttpPodDoor::HttpPodDoor(boost::asio::any_io_executor executor, kube::ApiClient& client,
                         std::uint16_t port)
    : body_(std::make_unique<Body>(std::move(executor), client, port)) {}

HttpPodDoor::~HttpPodDoor() = default;

net::Task<Result<noded::PodState>> HttpPodDoor::state(PodAddress pod) {
  net::HttpRequest request;
  request.target = "/admin/v1/state";
  Result<std::string> text = co_await body_->exchange(std::move(pod), std::move(request));
  if (!text.ok()) co_return std::move(text).error();
  Result<Json> json = parse_json(*text);
  if (!json.ok()) co_return data_loss("pod state: " + json.error().message);
  co_return noded::pod_state_from_json(*json);
}

net::Task<Status> HttpPodDoor::push_config(PodAddress pod, std::string config) {
  return body_->put(std::move(pod), "/admin/v1/engine-config", std::move(config));
}

net::Task<Status> HttpPodDoor::push_fleet(PodAddress pod, std::string view) {
  return body_->put(std::move(pod), "/admin/v1/fleet", std::move(view));
}

}  // namespace kantha::cluster
