#include "noded/api/activation.h"

#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "base/json_fields.h"

namespace kantha::noded {
namespace {

constexpr std::size_t kTextBytesMax = 512;
constexpr std::int64_t kPortMax = 65'535;
constexpr std::int64_t kCountMax = std::numeric_limits<std::int64_t>::max();

/// A text within bounds; empty when absent.
Result<std::string> text_of(const JsonFields& fields, std::string_view name) {
  TRY(std::optional<std::string> text, fields.string(name));
  if (text && text->size() > kTextBytesMax) {
    const std::string where = fields.path_of(name);
    return invalid_argument(where + ": at most " + std::to_string(kTextBytesMax) + " bytes, got " +
                                std::to_string(text->size()),
                            where);
  }
  return std::move(text).value_or("");
}

Result<Activation> activation_from_json(const Json& json, const std::string& path) {
  const JsonFields fields(json, path);
  TRY_OK(fields.check_object());
  Activation out;
  TRY(out.id, text_of(fields, "id"));
  if (out.id.empty()) {
    return invalid_argument(fields.path_of("id") + ": expected a text, got nothing",
                            fields.path_of("id"));
  }
  TRY(out.name, text_of(fields, "name"));
  TRY(const auto port, fields.integer("port", 0, kPortMax));
  out.port = port.value_or(0);
  TRY(const auto asks, fields.boolean("asks_for_keys"));
  out.asks_for_keys = asks.value_or(false);
  TRY(out.keys, fields.string("keys"));
  TRY(auto pods, fields.strings("pods", kActivationPodsMax));
  out.pods = std::move(pods).value_or(std::vector<std::string>());
  return out;
}

struct CountField {
  const char* name;
  std::int64_t LaneState::* member;
};
constexpr CountField kCounts[] = {{"port", &LaneState::port},
                                  {"held", &LaneState::held},
                                  {"waiting", &LaneState::waiting},
                                  {"total", &LaneState::total},
                                  {"idle_ms", &LaneState::idle_ms}};

Result<LaneState> lane_from_json(const Json& json, const std::string& path) {
  const JsonFields fields(json, path);
  TRY_OK(fields.check_object());
  LaneState out;
  TRY(out.id, text_of(fields, "id"));
  for (const CountField& field : kCounts) {
    TRY(const auto count, fields.integer(field.name, 0, kCountMax));
    out.*field.member = count.value_or(0);
  }
  TRY(auto error, fields.string("error"));
  out.error = std::move(error).value_or("");
  return out;
}

}  // namespace

Json to_json(const ActivationTable& table) {
  Json entries = Json::array();
  for (const Activation& entry : table.entries) {
    Json item = {{"id", entry.id},
                 {"name", entry.name},
                 {"port", entry.port},
                 {"asks_for_keys", entry.asks_for_keys},
                 {"pods", entry.pods}};
    if (entry.keys) item["keys"] = *entry.keys;
    entries.push_back(std::move(item));
  }
  return {{"entries", std::move(entries)}};
}

Json to_json(const ActivatorState& state) {
  Json lanes = Json::array();
  for (const LaneState& lane : state.lanes) {
    Json item = {{"id", lane.id}};
    for (const CountField& field : kCounts) item[field.name] = lane.*field.member;
    if (!lane.error.empty()) item["error"] = lane.error;
    lanes.push_back(std::move(item));
  }
  return {{"table", state.table}, {"draining", state.draining}, {"lanes", std::move(lanes)}};
}

Result<ActivationTable> activation_table_from_json(const Json& json) {
  const JsonFields fields(json, "");
  TRY_OK(fields.check_object());
  ActivationTable out;
  TRY(const Json* entries, fields.array("entries", kActivationsMax));
  if (entries == nullptr) {
    return invalid_argument("entries: expected a list, got nothing", "entries");
  }
  std::set<std::string> ids;
  for (const Json& item : *entries) {
    const std::string path = "entries[" + std::to_string(out.entries.size()) + "]";
    TRY(Activation entry, activation_from_json(item, path));
    if (!ids.insert(entry.id).second) {
      return invalid_argument(path + ".id: \"" + entry.id + "\" is there twice", path + ".id");
    }
    out.entries.push_back(std::move(entry));
  }
  return out;
}

Result<ActivatorState> activator_state_from_json(const Json& json) {
  const JsonFields fields(json, "");
  TRY_OK(fields.check_object());
  ActivatorState out;
  TRY(out.table, text_of(fields, "table"));
  TRY(const auto draining, fields.boolean("draining"));
  out.draining = draining.value_or(false);
  TRY(const Json* lanes, fields.array("lanes", kActivationsMax));
  if (lanes == nullptr) return out;
  for (const Json& item : *lanes) {
    TRY(LaneState lane, lane_from_json(item, "lanes[" + std::to_string(out.lanes.size()) + "]"));
    out.lanes.push_back(std::move(lane));
  }
  return out;
}

}  // namespace kantha::noded
