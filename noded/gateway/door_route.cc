#include "noded/gateway/door_route.h"

#include <array>

#include "noded/gateway/door_path.h"

namespace kantha::noded {
namespace {

constexpr bool kOpen = true;
constexpr bool kGuarded = false;
constexpr bool kGet = false;
constexpr bool kPost = true;

constexpr std::array<DoorRoute, 22> kRoutes = {{
    {DoorPage::kLive, kOpen, kGet, "/live"},
    {DoorPage::kHealth, kOpen, kGet, "/health"},
    {DoorPage::kHealth, kOpen, kGet, "/ready"},
    {DoorPage::kStartup, kOpen, kGet, "/startup"},
    {DoorPage::kVersion, kOpen, kGet, "/version"},
    {DoorPage::kMetrics, kGuarded, kGet, "/metrics"},
    {DoorPage::kForward, kGuarded, kGet, "/v1/models"},
    {DoorPage::kGenerate, kGuarded, kPost, "/v1/chat/completions"},
    {DoorPage::kGenerate, kGuarded, kPost, "/v1/completions"},
    {DoorPage::kGenerate, kGuarded, kPost, "/v1/embeddings"},
    {DoorPage::kGenerate, kGuarded, kPost, "/v1/responses"},
    {DoorPage::kGenerate, kGuarded, kPost, "/v1/messages"},
    {DoorPage::kForward, kGuarded, kPost, "/v1/messages/count_tokens"},
    {DoorPage::kGenerate, kGuarded, kPost, "/api/chat"},
    {DoorPage::kGenerate, kGuarded, kPost, "/api/generate"},
    {DoorPage::kForward, kGuarded, kPost, "/api/show"},
    {DoorPage::kForward, kGuarded, kGet, "/api/tags"},
    {DoorPage::kForward, kGuarded, kGet, "/api/version"},
    {DoorPage::kGenerate, kGuarded, kPost, "/infill"},
    {DoorPage::kForward, kGuarded, kGet, "/tokenizer_info"},
    {DoorPage::kForward, kGuarded, kPost, "/tokenize"},
    {DoorPage::kForward, kGuarded, kPost, "/detokenize"},
}};

constexpr DoorRoute kOneModel = {DoorPage::kForward, kGuarded, kGet, "/v1/models/{id}"};

}  // namespace

DoorRoute door_route(std::string_view target) {
  const std::optional<std::string_view> path = canonical_path(target);
  if (!path) return {};
  for (const DoorRoute& route : kRoutes) {
    if (*path == route.name) return route;
  }
  return path->starts_with("/v1/models/") ? kOneModel : DoorRoute{};
}

const char* allowed_methods(const DoorRoute& route) { return route.is_post ? "POST" : "GET, HEAD"; }

bool allows(const DoorRoute& route, std::string_view method) {
  return route.is_post ? method == "POST" : method == "GET" || method == "HEAD";
}

}  // namespace kantha::noded
