#include "noded/api/fleet_view.h"

#include <array>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "base/json_fields.h"

namespace kantha::noded {
namespace {

/// Names of pods and models, and endpoints: what Kubernetes and Unix socket paths allow.
constexpr std::size_t kTextBytesMax = 253;

struct TextField {
  std::string_view name;
  std::string FleetPeer::* member;
  bool required;
};
constexpr std::array kTexts = {
    TextField{"name", &FleetPeer::name, true},
    TextField{"endpoint", &FleetPeer::endpoint, true},
    TextField{"model", &FleetPeer::model, false},
    TextField{"revision", &FleetPeer::revision, false},
};

Result<FleetPeer> peer_from_json(const Json& json, const std::string& path) {
  const JsonFields fields(json, path);
  TRY_OK(fields.check_object());
  FleetPeer peer;
  for (const TextField& field : kTexts) {
    TRY(std::optional<std::string> text, fields.string(field.name));
    const std::string where = fields.path_of(field.name);
    if (field.required && text.value_or("").empty()) {
      return invalid_argument(where + ": expected a text, got nothing", where);
    }
    if (text && text->size() > kTextBytesMax) {
      return invalid_argument(where + ": at most " + std::to_string(kTextBytesMax) +
                                  " bytes, got " + std::to_string(text->size()),
                              where);
    }
    peer.*field.member = std::move(text).value_or("");
  }
  return peer;
}

}  // namespace

Json to_json(const FleetView& view) {
  Json out;
  out["observed_at_ms"] = view.observed_at_ms;
  out["peers"] = Json::array();
  for (const FleetPeer& peer : view.peers) {
    Json item;
    for (const TextField& field : kTexts) item[field.name] = peer.*field.member;
    out["peers"].push_back(std::move(item));
  }
  return out;
}

Result<FleetView> fleet_view_from_json(const Json& json) {
  const JsonFields fields(json, "");
  TRY_OK(fields.check_object());
  FleetView view;
  TRY(const std::optional<std::int64_t> at,
      fields.integer("observed_at_ms", 1, std::numeric_limits<std::int64_t>::max()));
  if (!at) {
    return invalid_argument("observed_at_ms: expected an integer, got nothing", "observed_at_ms");
  }
  view.observed_at_ms = *at;
  TRY(const Json* peers, fields.array("peers", kFleetPeersMax));
  if (peers == nullptr) return view;
  std::set<std::string> names;
  for (const Json& item : *peers) {
    const std::string path = "peers[" + std::to_string(view.peers.size()) + "]";
    TRY(FleetPeer peer, peer_from_json(item, path));
    if (!names.insert(peer.name).second) {
      return invalid_argument(path + ".name: \"" + peer.name + "\" is there twice", path + ".name");
    }
    view.peers.push_back(std::move(peer));
  }
  return view;
}

}  // namespace kantha::noded
