#include "tests/fake/api_server/delete_verb.h"

#include <fmt/format.h>

#include <algorithm>

namespace kantha::fake {
namespace {

void add_finalizer(Json& metadata, const char* name) {
  Json& list = metadata["finalizers"];
  if (!list.is_array()) list = Json::array();
  if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
}

}  // namespace

std::optional<Refusal> DeleteVerb::check_preconditions(const Json& object,
                                                       const Json& options) const {
  const Json wanted = options.value("preconditions", Json::object());
  const Json& metadata = object.at("metadata");
  const std::string name = metadata.at("name");
  const std::string uid = metadata.at("uid");
  if (wanted.contains("uid") && wanted["uid"] != uid) {
    return precondition_failed(
        kind_, name,
        fmt::format("the UID in the precondition ({}) does not match the UID in record ({}). The "
                    "object might have been deleted and then recreated",
                    wanted["uid"].get<std::string>(), uid));
  }
  const std::string version = metadata.at("resourceVersion");
  if (wanted.contains("resourceVersion") && wanted["resourceVersion"] != version) {
    return precondition_failed(
        kind_, name,
        fmt::format("the ResourceVersion in the precondition ({}) does not match the "
                    "ResourceVersion in record ({}). The object might have been modified",
                    wanted["resourceVersion"].get<std::string>(), version));
  }
  return std::nullopt;
}

std::int64_t DeleteVerb::grace_of(const Json& object, const Json& options) const {
  if (kind_.plural != "pods") return 0;
  const Json spec = object.value("spec", Json::object());
  const std::string phase = object.value("status", Json::object()).value("phase", "");
  if (spec.value("nodeName", "").empty() || phase == "Succeeded" || phase == "Failed") return 0;
  std::int64_t grace = spec.value("terminationGracePeriodSeconds", 30);
  if (options.contains("gracePeriodSeconds")) grace = options["gracePeriodSeconds"];
  const Json& metadata = object.at("metadata");
  if (metadata.contains("deletionGracePeriodSeconds")) {
    grace = std::min(grace, metadata["deletionGracePeriodSeconds"].get<std::int64_t>());
  }
  return std::max<std::int64_t>(grace, 0);
}

net::HttpResponse DeleteVerb::removed(const Json& object) const {
  if (kind_.returns_deleted) return json_answer(200, object);
  Json details = {{"name", object["metadata"]["name"]},
                  {"kind", kind_.plural},
                  {"uid", object["metadata"]["uid"]}};
  if (!kind_.group.empty()) details["group"] = kind_.group;
  return json_answer(200, {{"kind", "Status"},
                           {"apiVersion", "v1"},
                           {"metadata", Json::object()},
                           {"status", "Success"},
                           {"details", details}});
}

net::HttpResponse DeleteVerb::run(const ApiRequest& request) {
  const std::string path = request.object_path();
  const Stored* stored = store_.find(table_, path);
  if (stored == nullptr) return refusal_answer(not_found_refusal(kind_, request.name));
  Json options = Json::object();
  if (!request.body.empty()) {
    auto parsed = parse_json(request.body);
    if (!parsed.ok()) return refusal_answer(bad_request("cannot decode DeleteOptions"));
    options = *std::move(parsed);
  }
  for (const char* name : {"propagationPolicy"}) {
    if (!request.option(name).empty()) options[name] = request.option(name);
  }
  if (!request.option("gracePeriodSeconds").empty()) {
    options["gracePeriodSeconds"] = std::stoll(request.option("gracePeriodSeconds"));
  }
  if (auto refusal = check_preconditions(*stored->json, options)) return refusal_answer(*refusal);

  Json object = *stored->json;
  Json& metadata = object["metadata"];
  const std::string propagation = options.value("propagationPolicy", "Background");
  if (propagation == "Foreground") add_finalizer(metadata, "foregroundDeletion");
  if (propagation == "Orphan") add_finalizer(metadata, "orphan");
  const std::int64_t grace = grace_of(object, options);
  const WriteRecord record{.manager = request.manager, .verb = "delete"};
  const bool is_held = metadata.contains("finalizers") || grace > 0 || kind_.plural == "namespaces";
  if (request.option("dryRun") == "All") return removed(object);
  if (!is_held) {
    store_.erase(table_, path, record);
    metadata["resourceVersion"] = std::to_string(store_.version());
    return removed(object);
  }
  const bool was_marked = metadata.contains("deletionTimestamp");
  const bool is_shorter = metadata.value("deletionGracePeriodSeconds", 0) > grace;
  if (was_marked && !is_shorter && object == *stored->json) return json_answer(200, object);
  if (!was_marked || is_shorter) {
    metadata["deletionTimestamp"] = store_.time_text(std::chrono::seconds(grace));
    metadata["deletionGracePeriodSeconds"] = grace;
  }
  if (!was_marked && kind_.has_generation) {
    metadata["generation"] = metadata.value("generation", 0) + 1;
  }
  if (kind_.plural == "namespaces") {
    metadata.erase("deletionGracePeriodSeconds");
    object["status"]["phase"] = "Terminating";
  }
  return json_answer(200, *store_.put(table_, std::move(object), stored->managers, record));
}

}  // namespace kantha::fake
