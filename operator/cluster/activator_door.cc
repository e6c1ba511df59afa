#include "operator/cluster/activator_door.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/json_text.h"
#include "base/net/http_client.h"
#include "base/whole_file.h"

namespace kantha::cluster {
namespace {

constexpr Duration kAnswerWithin = std::chrono::seconds(2);
constexpr std::size_t kStateBytesMax = 8u << 20;
constexpr std::size_t kTokenBytesMax = 4096;
constexpr std::size_t kActivatorsMax = 100;

bool has_flag(const Json& endpoint, const char* name, bool otherwise) {
  const auto conditions = endpoint.find("conditions");
  if (conditions == endpoint.end() || !conditions->is_object()) return otherwise;
  const auto flag = conditions->find(name);
  return flag == conditions->end() || !flag->is_boolean() ? otherwise : flag->get<bool>();
}

void add_addresses(const Json& endpoint, std::set<std::string>& out) {
  if (!endpoint.is_object()) return;
  if (!has_flag(endpoint, "ready", true) && !has_flag(endpoint, "terminating", false)) return;
  const auto addresses = endpoint.find("addresses");
  if (addresses == endpoint.end() || !addresses->is_array()) return;
  for (const Json& address : *addresses) {
    if (address.is_string() && out.size() < kActivatorsMax) out.insert(address.get<std::string>());
  }
}

}  // namespace

std::vector<std::string> activator_addresses(const std::vector<Json>& slices) {
  std::set<std::string> out;
  std::string family;
  for (const Json& slice : slices) {
    if (family.empty()) family = text_at(slice, "addressType");
    const auto endpoints = slice.find("endpoints");
    if (text_at(slice, "addressType") != family || endpoints == slice.end()) continue;
    if (!endpoints->is_array()) continue;
    for (const Json& endpoint : *endpoints) add_addresses(endpoint, out);
  }
  return {out.begin(), out.end()};
}

struct HttpActivatorDoor::Body {
  Body(boost::asio::any_io_executor executor, kube::ApiClient& client, ActivatorPlace place)
      : http(std::move(executor)), client(client), place(std::move(place)) {}

  Result<std::string> token() const {
    TRY(std::string text, read_whole_file(place.token_file, kTokenBytesMax));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    return text;
  }

  net::HttpClient http;
  kube::ApiClient& client;
  ActivatorPlace place;
};

HttpActivatorDoor::HttpActivatorDoor(boost::asio::any_io_executor executor, kube::ApiClient& client,
                                     ActivatorPlace place)
    : body_(std::make_unique<Body>(std::move(executor), client, std::move(place))) {}

HttpActivatorDoor::~HttpActivatorDoor() = default;

net::Task<Result<std::vector<std::string>>> HttpActivatorDoor::list() {
  kube::ListOptions options;
  options.label_selector = "kubernetes.io/service-name=" + body_->place.service.name;
  options.resource_version = "0";
  const Result<kube::ObjectPage> page = co_await body_->client.list(
      kEndpointSlices, body_->place.service.name_space, std::move(options));
  if (!page.ok()) co_return page.error();
  co_return activator_addresses(page->items);
}

net::Task<Result<noded::ActivatorState>> HttpActivatorDoor::exchange(
    std::string address, std::optional<std::string> table) {
  const Result<std::string> token = body_->token();
  if (!token.ok()) co_return token.error();
  net::HttpRequest request;
  request.target = "/admin/v1/activations";
  request.headers.set("Authorization", "Bearer " + *token);
  if (table) {
    request.method = "PUT";
    request.headers.set("Content-Type", "application/json");
    request.body = std::move(*table);
  }
  const net::Endpoint where{address, body_->place.port, {}};
  const Result<net::HttpResponse> answer =
      co_await body_->http.call(where, std::move(request), kAnswerWithin, kStateBytesMax);
  if (!answer.ok()) co_return answer.error();
  if (answer->status != 200) {
    const Code code = answer->status == 401 ? Code::kUnauthenticated : Code::kUnavailable;
    co_return Error{code, "activator " + address + " answered " + std::to_string(answer->status)};
  }
  Result<Json> json =
      parse_json(answer->body, {.depth_max = 8, .nodes_max = 400'000, .bytes_max = kStateBytesMax});
  if (!json.ok()) co_return data_loss("activator state: " + json.error().message);
  co_return noded::activator_state_from_json(*json);
}

}  // namespace kantha::cluster
