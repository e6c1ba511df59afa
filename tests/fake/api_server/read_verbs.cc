#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/rng.h"
#include "tests/fake/api_server/fake_api_server.h"

/// GET, LIST, WATCH and discovery of the fake API server.
namespace kantha::fake {
namespace {

std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t number = 0;
  const auto end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || text.empty()) return std::nullopt;
  return number;
}

/// A page's place: "version:path of the last object", hex so that it looks opaque.
std::string encode_token(std::int64_t version, const std::string& last) {
  std::string text;
  for (const unsigned char c : fmt::format("{}:{}", version, last)) {
    text += fmt::format("{:02x}", c);
  }
  return text;
}

std::optional<std::pair<std::int64_t, std::string>> decode_token(const std::string& token) {
  std::string text;
  for (std::size_t i = 0; i + 1 < token.size(); i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(token.data() + i, token.data() + i + 2, value, 16);
    if (error != std::errc() || end != token.data() + i + 2) return std::nullopt;
    text += static_cast<char>(value);
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto version = number_of(text.substr(0, colon));
  if (!version) return std::nullopt;
  return std::pair(*version, text.substr(colon + 1));
}

Refusal invalid_options(const std::string& field, const std::string& message) {
  Kind kind{.group = "meta.k8s.io", .plural = "", .kind = "ListOptions"};
  return invalid(kind, "", {{field, "FieldValueForbidden", message}});
}

constexpr const char* kContinueTooOld =
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first "
    "chunk was returned and now may show up in the list.";

/// Which version a list shows, by resourceVersion and resourceVersionMatch.
struct Shown {
  std::int64_t version = 0;
  std::optional<Refusal> refusal;
};

Shown shown_version(const ApiRequest& request, const ObjectStore& store, const ReadViewPtr& view) {
  const std::int64_t now = store.version();
  const bool is_frozen = view != nullptr && view->frozen_at.has_value();
  const std::int64_t cached = is_frozen ? std::min(now, *view->frozen_at) : now;
  const std::string wanted = request.option("resourceVersion");
  const std::string match = request.option("resourceVersionMatch");
  if (wanted.empty()) {
    if (match.empty()) return {now, {}};
    return {0, invalid_options("resourceVersionMatch",
                               "Forbidden: resourceVersionMatch is forbidden unless "
                               "resourceVersion is provided")};
  }
  const auto number = number_of(wanted);
  if (!number) {
    return {0, bad_request(fmt::format("Invalid value: \"{}\": strconv.ParseUint: parsing \"{}\": "
                                       "invalid syntax",
                                       wanted, wanted))};
  }
  if (match == "Exact") {
    if (*number > now) return {0, too_large_version(*number, now)};
    return {*number, {}};
  }
  if (*number > cached) return {0, too_large_version(*number, cached)};
  return {cached, {}};
}

}  // namespace

net::HttpResponse FakeApiServer::get(const ApiRequest& request, const Table& table) {
  const bool is_object = request.subresource.empty() || request.subresource == "status";
  const bool is_scale = request.subresource == "scale" && table.kind.has_scale;
  if (!is_object && !is_scale) {
    if (table.kind.is_custom) return refusal_answer(not_found_refusal(table.kind, request.name));
    return refusal_answer({404, "NotFound", "the server could not find the requested resource"});
  }
  const Stored* stored = store_.find(table, request.object_path());
  if (stored == nullptr) return refusal_answer(not_found_refusal(table.kind, request.name));
  return json_answer(200, is_scale ? scale_of(*stored->json) : *stored->json);
}

Json scale_of(const Json& object) {
  const Json& metadata = object.at("metadata");
  Json scale = {{"kind", "Scale"}, {"apiVersion", "autoscaling/v1"}, {"metadata", Json::object()}};
  for (const char* name : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (metadata.contains(name)) scale["metadata"][name] = metadata[name];
  }
  const Json status = object.value("status", Json::object());
  scale["spec"] = Json::object();
  const Json spec = object.value("spec", Json::object());
  if (spec.value("replicas", Json()).is_number()) scale["spec"]["replicas"] = spec["replicas"];
  scale["status"] = {{"replicas", status.value("replicas", 0)}};
  if (status.contains("selector")) scale["status"]["selector"] = status["selector"];
  return scale;
}

net::HttpResponse FakeApiServer::list(const ApiRequest& request, Table& table,
                                      const ReadViewPtr& view) {
  Shown shown;
  std::string after;
  if (const std::string token = request.option("continue"); !token.empty()) {
    const auto place = decode_token(token);
    if (!place) return refusal_answer(bad_request("continue key is not valid: bad token"));
    shown.version = place->first;
    after = place->second;
  } else {
    shown = shown_version(request, store_, view);
    if (shown.refusal) return refusal_answer(*shown.refusal);
  }
  const auto objects = store_.snapshot(table, shown.version);
  if (!objects) {
    const bool paged = !after.empty();
    return refusal_answer(expired(
        paged ? kContinueTooOld
              : fmt::format("too old resource version: {} ({})", shown.version, table.compacted)));
  }
  const LabelSelector selector(request.option("labelSelector"));
  const std::int64_t limit = number_of(request.option("limit")).value_or(0);
  Json body = {{"kind", table.kind.kind + "List"},
               {"apiVersion", table.kind.api_version()},
               {"metadata", {{"resourceVersion", std::to_string(shown.version)}}},
               {"items", Json::array()}};
  Json& items = body["items"];
  std::string last;
  std::int64_t left = 0;
  for (auto found = objects->upper_bound(after); found != objects->end(); ++found) {
    const Json& object = *found->second;
    const bool here =
        request.name_space.empty() || found->first.starts_with(request.name_space + "/");
    if (!here || !selector.matches(object)) continue;
    if (!matches_field_selector(request.option("fieldSelector"), object)) continue;
    if (limit > 0 && std::ssize(items) == limit) {
      ++left;
      continue;
    }
    items.push_back(object);
    if (!table.kind.is_custom) {
      items.back().erase("apiVersion");
      items.back().erase("kind");
    }
    last = found->first;
  }
  if (left > 0) {
    body["metadata"]["continue"] = encode_token(shown.version, last);
    if (selector.is_everything()) body["metadata"]["remainingItemCount"] = left;
  }
  return json_answer(200, body);
}

Answer FakeApiServer::watch(const ApiRequest& request, Table& table, const ReadViewPtr& view) {
  const std::string wanted = request.option("resourceVersion");
  const bool whole = request.flag("sendInitialEvents");
  if (whole) {
    const bool matched = request.option("resourceVersionMatch") == "NotOlderThan";
    if (!options_.supports_watch_list || !matched) {
      return {refusal_answer(invalid_options(
          options_.supports_watch_list ? "resourceVersionMatch" : "sendInitialEvents",
          options_.supports_watch_list
              ? "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
              : "Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature "
                "gate is enabled"))};
    }
  }
  const auto number = wanted.empty() ? std::optional<std::int64_t>(0) : number_of(wanted);
  if (!number) return {refusal_answer(bad_request("resourceVersion: Invalid value: " + wanted))};
  const TimePoint now = store_.clock().now();
  const double share = random_unit(options_.seed ^ 0x7761746368, watch_count_++);
  Duration timeout = std::chrono::duration_cast<Duration>(options_.watch_timeout_min * (1 + share));
  if (const auto seconds = number_of(request.option("timeoutSeconds"))) {
    timeout = std::chrono::seconds(*seconds);
  }
  WatchPlan plan{.from_version = *number,
                 .sends_bookmarks = options_.sends_bookmarks && request.flag("allowWatchBookmarks"),
                 .bookmark_interval = options_.bookmark_interval,
                 .deadline = now + timeout};
  if (whole || *number == 0) {
    const bool is_frozen = view != nullptr && view->frozen_at.has_value();
    const std::int64_t cached =
        is_frozen ? std::min(store_.version(), *view->frozen_at) : store_.version();
    const bool too_new = *number > cached || (whole && wanted.empty() && cached < store_.version());
    if (too_new) {
      return {refusal_answer(too_large_version(std::max(*number, store_.version()), cached))};
    }
    const auto objects = store_.snapshot(table, cached);
    if (!objects) return {refusal_answer(expired("too old resource version"))};
    const LabelSelector selector(request.option("labelSelector"));
    for (const auto& [path, object] : *objects) {
      const bool here = request.name_space.empty() || path.starts_with(request.name_space + "/");
      const bool named = matches_field_selector(request.option("fieldSelector"), *object);
      if (here && named && selector.matches(*object)) plan.initial.push_back(object);
    }
    plan.from_version = cached;
    plan.tells_initial_end = whole && request.flag("allowWatchBookmarks");
  } else if (options_.expired_as_status && *number < table.compacted) {
    return {refusal_answer(
        expired(fmt::format("too old resource version: {} ({})", *number, table.compacted)))};
  }
  Answer answer{{200, {{"Content-Type", "application/json"}}, ""}};
  answer.watch = std::make_unique<WatchCursor>(store_, table, request, view, std::move(plan));
  return answer;
}

namespace {

Json resource_entry(const Kind& kind) {
  Json entry = {{"name", kind.plural},
                {"singularName", kind.names.value("singular", "")},
                {"namespaced", kind.is_namespaced},
                {"kind", kind.kind},
                {"verbs", {"create", "delete", "get", "list", "patch", "update", "watch"}}};
  if (kind.names.contains("shortNames")) entry["shortNames"] = kind.names["shortNames"];
  return entry;
}

Json resource_list(const std::vector<Table*>& tables, const std::string& group_version) {
  Json list = {{"kind", "APIResourceList"},
               {"apiVersion", "v1"},
               {"groupVersion", group_version},
               {"resources", Json::array()}};
  for (const Table* table : tables) {
    const Kind& kind = table->kind;
    if (kind.api_version() != group_version) continue;
    list["resources"].push_back(resource_entry(kind));
    for (const auto& [has, name] :
         {std::pair(kind.has_status, "status"), std::pair(kind.has_scale, "scale")}) {
      if (!has) continue;
      Json entry = resource_entry(kind);
      entry["name"] = kind.plural + "/" + name;
      entry["verbs"] = {"get", "patch", "update"};
      list["resources"].push_back(entry);
    }
  }
  return list;
}

Json group_list(const std::vector<Table*>& tables) {
  Json groups = Json::object();
  for (const Table* table : tables) {
    const Kind& kind = table->kind;
    if (kind.group.empty()) continue;
    const Json version = {{"groupVersion", kind.api_version()}, {"version", kind.version}};
    groups[kind.group] = {
        {"name", kind.group}, {"versions", {version}}, {"preferredVersion", version}};
  }
  Json list = {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", Json::array()}};
  for (const auto& [name, group] : groups.items()) list["groups"].push_back(group);
  return list;
}

}  // namespace

net::HttpResponse FakeApiServer::answer_other(const ApiRequest& request) {
  const std::string& path = request.path;
  if (path == "/healthz" || path == "/readyz" || path == "/livez") {
    return {200, {{"Content-Type", "text/plain; charset=utf-8"}}, "ok"};
  }
  if (path == "/version") {
    return json_answer(
        200,
        {{"major", "1"}, {"minor", "37"}, {"gitVersion", "v1.37.2"}, {"platform", "linux/amd64"}});
  }
  if (path == "/api") {
    return json_answer(200, {{"kind", "APIVersions"}, {"versions", {"v1"}}});
  }
  if (path == "/apis") return json_answer(200, group_list(store_.tables()));
  if (path == "/api/v1") return json_answer(200, resource_list(store_.tables(), "v1"));
  if (path.starts_with("/apis/")) {
    const Json list = resource_list(store_.tables(), path.substr(6));
    if (!list["resources"].empty()) return json_answer(200, list);
  }
  return {404, {{"Content-Type", "text/plain; charset=utf-8"}}, "404 page not found\n"};
}

}  // namespace kantha::fake
