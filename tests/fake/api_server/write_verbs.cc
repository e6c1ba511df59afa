#include "tests/fake/api_server/write_verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/rng.h"
#include "tests/fake/api_server/object_rules.h"

namespace kantha::fake {
namespace {

constexpr const char* kServerFields[] = {"uid",
                                         "creationTimestamp",
                                         "generation",
                                         "deletionTimestamp",
                                         "deletionGracePeriodSeconds",
                                         "resourceVersion",
                                         "managedFields",
                                         "selfLink",
                                         "name",
                                         "namespace"};

/// Go's decoders take null for absent.
void drop_nulls(Json& value) {
  if (value.is_array()) {
    for (Json& element : value) drop_nulls(element);
  }
  if (!value.is_object()) return;
  for (auto item = value.begin(); item != value.end();) {
    if (item->is_null()) {
      item = value.erase(item);
    } else {
      drop_nulls(*item);
      ++item;
    }
  }
}

Json without_bookkeeping(Json object) {
  object["metadata"].erase("managedFields");
  object["metadata"].erase("resourceVersion");
  return object;
}

std::string version_of(const Json& object) {
  return object.value("metadata", Json::object()).value("resourceVersion", "");
}

void drop_empty_metadata(Json& object) {
  Json& metadata = object["metadata"];
  for (const char* name : {"labels", "annotations", "finalizers", "ownerReferences"}) {
    if (metadata.contains(name) && metadata[name].empty()) metadata.erase(name);
  }
}

}  // namespace

net::HttpResponse WriteVerbs::run(const ApiRequest& request) {
  const bool known = request.subresource.empty() ||
                     (request.subresource == "status" && kind_.has_status) ||
                     (request.subresource == "scale" && kind_.has_scale);
  if (!known) {
    if (kind_.is_custom) return refusal_answer(not_found_refusal(kind_, request.name));
    return refusal_answer({404, "NotFound", "the server could not find the requested resource"});
  }
  if (request.verb == "patch") return patch(request);
  Body body = read_body(request);
  if (const auto* refusal = std::get_if<Refusal>(&body)) return refusal_answer(*refusal);
  Json object = std::get<Json>(std::move(body));
  drop_nulls(object);
  if (request.verb == "create") return create(request, std::move(object), false);
  return update(request, std::move(object));
}

WriteVerbs::Body WriteVerbs::read_body(const ApiRequest& request) const {
  auto parsed = parse_json(request.body, {.nodes_max = 1'000'000});
  if (!parsed.ok() || !parsed->is_object()) {
    return bad_request("the object provided is unrecognized (must be of type " + kind_.kind +
                       "): " + (parsed.ok() ? "not an object" : parsed.error().message));
  }
  return *std::move(parsed);
}

std::optional<Refusal> WriteVerbs::check_place(const ApiRequest& request, Json& object) {
  const bool is_scale = request.subresource == "scale";
  const std::string kind = object.value("kind", "");
  if (!is_scale && (kind != kind_.kind || object.value("apiVersion", "") != kind_.api_version())) {
    return bad_request(fmt::format(
        "{} in version \"{}\" cannot be handled as a {}: the kind or apiVersion does not match",
        kind.empty() ? "object" : kind, object.value("apiVersion", ""), kind_.kind));
  }
  Json& metadata = object["metadata"];
  if (!metadata.is_object()) metadata = Json::object();
  if (!request.name.empty()) {
    const std::string name = metadata.value("name", request.name);
    if (name != request.name) {
      return bad_request(
          fmt::format("the name of the object ({}) does not match the name on the URL ({})", name,
                      request.name));
    }
    metadata["name"] = request.name;
  }
  if (!kind_.is_namespaced) return std::nullopt;
  const std::string name_space = metadata.value("namespace", request.name_space);
  if (name_space != request.name_space) {
    return bad_request(
        fmt::format("the namespace of the provided object does not match the "
                    "namespace sent on the request"));
  }
  metadata["namespace"] = name_space;
  return std::nullopt;
}

void WriteVerbs::init_metadata(Json& object) const {
  Json& metadata = object["metadata"];
  for (const char* name : {"uid", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds",
                           "managedFields", "resourceVersion", "generation"}) {
    metadata.erase(name);
  }
  metadata["uid"] = store_.new_uid();
  metadata["creationTimestamp"] = store_.time_text();
  if (kind_.has_generation) metadata["generation"] = 1;
  drop_empty_metadata(object);
}

net::HttpResponse WriteVerbs::create(const ApiRequest& request, Json object, bool is_apply) {
  if (auto refusal = check_place(request, object)) return refusal_answer(*refusal);
  Json& metadata = object["metadata"];
  if (!metadata.contains("name") && metadata.contains("generateName")) {
    const auto bits = random_bits(server_.options_.seed ^ 0x6e616d65,
                                  static_cast<std::uint64_t>(store_.version()));
    metadata["name"] =
        fmt::format("{}{:05x}", metadata["generateName"].get<std::string>(), bits & 0xfffff);
  }
  const std::string name = metadata.value("name", "");
  if (name.empty()) {
    return refusal_answer(invalid(kind_, "",
                                  {{"metadata.name", "FieldValueRequired",
                                    "Required value: name or generateName is required"}}));
  }
  if (metadata.contains("resourceVersion") && !is_apply) {
    Refusal refusal{500, "", "resourceVersion should not be set on objects to be created"};
    return refusal_answer(refusal);
  }
  if (kind_.is_namespaced) {
    const Table* namespaces = store_.find_table("", "namespaces");
    const Stored* place = store_.find(*namespaces, request.name_space);
    if (place == nullptr) {
      return refusal_answer(not_found_refusal(namespaces->kind, request.name_space));
    }
    if (place->json->at("metadata").contains("deletionTimestamp")) {
      return refusal_answer(namespace_terminating(kind_, name, request.name_space));
    }
  }
  if (kind_.is_custom && is_definition_terminating()) {
    return refusal_answer({405, "MethodNotAllowed",
                           "create not allowed while custom resource definition is terminating"});
  }
  init_metadata(object);
  if (kind_.has_status) object.erase("status");
  if (auto refusal = prepare_new(store_, table_, object)) return refusal_answer(*refusal);
  if (server_.admission_) {
    if (auto refusal = server_.admission_(kind_, object)) return refusal_answer(*refusal);
  }
  if (store_.find(table_, ObjectStore::path_of(object)) != nullptr) {
    return refusal_answer(already_exists(kind_, name));
  }
  ManagerEntries managers;
  if (is_apply) {
    // Defaults are nobody's: the config's own fields only.
    Json config = std::get<Json>(read_body(request));
    drop_nulls(config);
    if (kind_.has_status) config.erase("status");
    managers = apply_config(kind_, Json::object(), {}, config, writer_of(request), true).managers;
  } else if (kind_.plural != "customresourcedefinitions") {  // thousands of fields, nobody's matter
    managers = managers_after_update(kind_, Json::object(), object, {}, writer_of(request));
  }
  if (request.option("dryRun") == "All") return json_answer(201, object);
  const auto stored =
      store_.put(table_, std::move(object), std::move(managers),
                 {.manager = request.manager, .verb = is_apply ? "apply" : "create"});
  return json_answer(201, *stored);
}

bool WriteVerbs::is_definition_terminating() const {
  const Table* definitions = store_.find_table("apiextensions.k8s.io", "customresourcedefinitions");
  const Stored* stored = store_.find(*definitions, kind_.qualified());
  return stored != nullptr && stored->json->at("metadata").contains("deletionTimestamp");
}

std::optional<Refusal> WriteVerbs::check_uid(const ApiRequest& request, const Json& live,
                                             const Json& object) const {
  const std::string uid = object.at("metadata").value("uid", "");
  const std::string own = live.at("metadata").at("uid");
  // The metadata of a status write is reset before anybody compares it (the real server does so).
  if (uid.empty() || uid == own || request.subresource == "status") return std::nullopt;
  if (request.verb == "patch") {
    return invalid(kind_, request.name,
                   {{"metadata.uid", "FieldValueInvalid",
                     fmt::format("Invalid value: \"{}\": field is immutable", uid)}});
  }
  return conflict(
      kind_, request.name,
      fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid,
                  own));
}

std::optional<Refusal> WriteVerbs::check_version(const Json& live, const Json& object,
                                                 bool needs_version) const {
  const std::string name = live.at("metadata").at("name");
  const std::string version = version_of(object);
  if (version.empty()) {
    if (!needs_version) return std::nullopt;
    Kind named = kind_;  // in the words of the real server: the plural, where others say the kind
    named.kind = kind_.plural;
    return invalid(named, name,
                   {{"metadata.resourceVersion", "FieldValueInvalid",
                     "Invalid value: 0: must be specified for an update"}});
  }
  if (version != version_of(live)) return stale_version(kind_, name);
  return std::nullopt;
}

Json WriteVerbs::through_subresource(const Json& live, Json object,
                                     const std::string& subresource) const {
  Json result;
  if (subresource == "status") {
    result = live;
    if (object.contains("status")) {
      result["status"] = std::move(object["status"]);
    } else {
      result.erase("status");
    }
    return result;
  }
  result = std::move(object);
  result["apiVersion"] = live.at("apiVersion");
  result["kind"] = live.at("kind");
  const Json& old = live.at("metadata");
  Json& metadata = result["metadata"];
  for (const char* name : kServerFields) {
    metadata.erase(name);
    if (old.contains(name)) metadata[name] = old[name];
  }
  drop_empty_metadata(result);
  if (!kind_.has_status) return result;
  result.erase("status");
  if (live.contains("status")) result["status"] = live["status"];
  return result;
}

net::HttpResponse WriteVerbs::update(const ApiRequest& request, Json object) {
  if (auto refusal = check_place(request, object)) return refusal_answer(*refusal);
  const Stored* stored = store_.find(table_, request.object_path());
  if (stored == nullptr) return refusal_answer(not_found_refusal(kind_, request.name));
  if (request.subresource == "scale") return scale(request, *stored);
  const Json& live = *stored->json;
  const bool needs_version = kind_.needs_version && request.verb == "update";
  if (auto refusal = check_uid(request, live, object)) return refusal_answer(*refusal);
  if (auto refusal = check_version(live, object, needs_version)) return refusal_answer(*refusal);
  Json after = through_subresource(live, std::move(object), request.subresource);
  if (auto refusal = prepare_change(table_, live, after, request.subresource)) {
    return refusal_answer(*refusal);
  }
  auto managers = managers_after_update(kind_, live, after, stored->managers, writer_of(request));
  return finish(request, live, std::move(after), std::move(managers), request.verb);
}

net::HttpResponse WriteVerbs::scale(const ApiRequest& request, const Stored& stored) {
  Json scale = scale_of(*stored.json);
  if (request.verb == "patch") {
    Body body = patched(request, scale);
    if (const auto* refusal = std::get_if<Refusal>(&body)) return refusal_answer(*refusal);
    scale = std::get<Json>(std::move(body));
  } else {
    scale = std::get<Json>(read_body(request));
  }
  const std::string version = version_of(scale);
  if (!version.empty() && version != version_of(*stored.json)) {
    return refusal_answer(stale_version(kind_, request.name));
  }
  Json after = *stored.json;
  after["spec"]["replicas"] = scale["spec"].value("replicas", 0);
  auto managers =
      managers_after_update(kind_, *stored.json, after, stored.managers, writer_of(request));
  const auto answer =
      finish(request, *stored.json, std::move(after), std::move(managers), request.verb);
  if (answer.status >= 300) return answer;
  return json_answer(200, scale_of(*store_.find(table_, request.object_path())->json));
}

WriteVerbs::Body WriteVerbs::patched(const ApiRequest& request, const Json& live) const {
  auto parsed = parse_json(request.body);
  if (!parsed.ok()) return bad_request("error decoding patch: " + parsed.error().message);
  Json object = live;
  if (request.content_type == "application/merge-patch+json") {
    if (!parsed->is_object()) return bad_request("error decoding patch: not an object");
    object.merge_patch(*parsed);
    return object;
  }
  try {
    return object.patch(*parsed);
  } catch (const Json::exception&) {
    return Refusal{422, "Invalid",
                   "the server rejected our request due to an error in our request"};
  }
}

net::HttpResponse WriteVerbs::patch(const ApiRequest& request) {
  if (request.content_type == "application/apply-patch+yaml") return apply(request);
  const bool known = request.content_type == "application/merge-patch+json" ||
                     request.content_type == "application/json-patch+json";
  const bool is_strategic = request.content_type == "application/strategic-merge-patch+json";
  if (!known && !is_strategic) {
    return refusal_answer({415, "UnsupportedMediaType", "415: Unsupported Media Type"});
  }
  if (!known) {
    return refusal_answer(
        {415, "UnsupportedMediaType",
         "the body of the request was in an unknown format - accepted media types include: "
         "application/json-patch+json, application/merge-patch+json, "
         "application/apply-patch+yaml"});
  }
  const Stored* stored = store_.find(table_, request.object_path());
  if (stored == nullptr) return refusal_answer(not_found_refusal(kind_, request.name));
  if (request.subresource == "scale") return scale(request, *stored);
  Body body = patched(request, *stored->json);
  if (const auto* refusal = std::get_if<Refusal>(&body)) return refusal_answer(*refusal);
  Json object = std::get<Json>(std::move(body));
  drop_nulls(object);
  return update(request, std::move(object));
}

Refusal WriteVerbs::apply_conflicts(const std::string& name,
                                    const std::vector<ApplyConflict>& conflicts) {
  Json causes = Json::array();
  std::map<std::string, std::vector<std::string>> by_owner;
  for (const ApplyConflict& conflict : conflicts) {
    std::string owner = dump_json(Json(conflict.owner.manager));
    if (!conflict.owner.subresource.empty()) {
      owner += fmt::format(" with subresource \"{}\"", conflict.owner.subresource);
    }
    if (!conflict.owner.is_apply) owner += " using " + kind_.api_version();
    const std::string field = readable(conflict.path);
    by_owner[owner].push_back(field);
    causes.push_back({{"reason", "FieldManagerConflict"},
                      {"message", "conflict with " + owner},
                      {"field", field}});
  }
  const bool one = conflicts.size() == 1;
  std::string message =
      fmt::format("Apply failed with {} conflict{}: ", conflicts.size(), one ? "" : "s");
  for (const auto& [owner, fields] : by_owner) {
    if (one) {
      message += fmt::format("conflict with {}: {}", owner, fields[0]);
      continue;
    }
    if (!message.ends_with(": ")) message += "\n";
    message += fmt::format("conflicts with {}:", owner);
    for (const std::string& field : fields) message += "\n- " + field;
  }
  Refusal refusal = conflict(kind_, name, "");
  refusal.message = message;
  refusal.details = {{"causes", causes}};
  return refusal;
}

net::HttpResponse WriteVerbs::apply(const ApiRequest& request) {
  if (request.option("fieldManager").empty()) {
    return refusal_answer(invalid(
        {.group = "meta.k8s.io", .kind = "PatchOptions"}, "",
        {{"fieldManager", "FieldValueRequired", "Required value: is required for apply patch"}}));
  }
  Body body = read_body(request);
  if (const auto* refusal = std::get_if<Refusal>(&body)) return refusal_answer(*refusal);
  Json config = std::get<Json>(std::move(body));
  drop_nulls(config);
  if (config.value("metadata", Json::object()).contains("managedFields")) {
    return refusal_answer(bad_request("metadata.managedFields must be nil"));
  }
  if (auto refusal = check_place(request, config)) return refusal_answer(*refusal);
  const Stored* stored = store_.find(table_, request.object_path());
  if (stored == nullptr) {
    const bool has_uid = config["metadata"].contains("uid");
    if (!request.subresource.empty()) {
      return refusal_answer(not_found_refusal(kind_, request.name));
    }
    if (has_uid) {
      return refusal_answer(conflict(
          kind_, request.name,
          fmt::format("uid mismatch: the provided object specified uid {}, and no existing "
                      "object was found",
                      config["metadata"]["uid"].get<std::string>())));
    }
    return create(request, std::move(config), true);
  }
  const Json live = *stored->json;
  if (auto refusal = check_uid(request, live, config)) return refusal_answer(*refusal);
  if (auto refusal = check_version(live, config, false)) return refusal_answer(*refusal);
  if (request.subresource == "status") {
    config = {{"status", config.value("status", Json::object())}};
  } else if (kind_.has_status) {
    config.erase("status");
  }
  Json base = live;
  base["metadata"].erase("managedFields");
  if (config.contains("metadata")) {
    for (const char* name : kServerFields) config["metadata"].erase(name);
    if (config["metadata"].empty()) config.erase("metadata");
  }
  Applied applied = apply_config(kind_, base, stored->managers, config, writer_of(request),
                                 request.flag("force"));
  if (!applied.conflicts.empty()) {
    return refusal_answer(apply_conflicts(request.name, applied.conflicts));
  }
  Json after = through_subresource(live, std::move(applied.object), request.subresource);
  if (auto refusal = prepare_change(table_, live, after, request.subresource)) {
    return refusal_answer(*refusal);
  }
  return finish(request, live, std::move(after), std::move(applied.managers), "apply");
}

Writer WriteVerbs::writer_of(const ApiRequest& request) const {
  return {request.manager, request.subresource, store_.time_text()};
}

net::HttpResponse WriteVerbs::finish(const ApiRequest& request, const Json& live, Json after,
                                     ManagerEntries managers, const std::string& verb) {
  const std::string path = ObjectStore::path_of(live);
  Json& metadata = after["metadata"];
  drop_empty_metadata(after);
  const bool same_fields = [&] {
    const ManagerEntries& old = store_.find(table_, path)->managers;
    return std::equal(old.begin(), old.end(), managers.begin(), managers.end(),
                      [](const ManagerEntry& a, const ManagerEntry& b) {
                        return a.manager == b.manager && a.is_apply == b.is_apply &&
                               a.subresource == b.subresource && a.fields == b.fields;
                      });
  }();
  if (same_fields && without_bookkeeping(after) == without_bookkeeping(live)) {
    return json_answer(200, live);
  }
  if (kind_.has_generation && is_generation_change(live, after)) {
    metadata["generation"] = metadata.value("generation", 0) + 1;
  }
  if (request.option("dryRun") == "All") return json_answer(200, after);
  const bool is_marked = metadata.contains("deletionTimestamp");
  const bool is_held =
      metadata.contains("finalizers") || metadata.value("deletionGracePeriodSeconds", 0) > 0;
  const WriteRecord record{
      .manager = request.manager, .verb = verb, .subresource = request.subresource};
  if (is_marked && !is_held) {
    const Json last = after;
    store_.erase(table_, path, record);
    return json_answer(200, last);
  }
  return json_answer(200, *store_.put(table_, std::move(after), std::move(managers), record));
}

void WriteVerbs::store_edit(const ObjectPtr& before, Json after, const std::string& manager,
                            const std::string& subresource) {
  ApiRequest request;
  request.manager = manager;
  request.subresource = subresource;
  const Stored* stored = store_.find(table_, ObjectStore::path_of(*before));
  auto managers =
      managers_after_update(kind_, *before, after, stored->managers, writer_of(request));
  finish(request, *before, std::move(after), std::move(managers), "edit");
}

}  // namespace kantha::fake
