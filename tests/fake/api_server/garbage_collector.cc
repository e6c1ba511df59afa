#include <algorithm>
#include <utility>

#include "tests/fake/api_server/delete_verb.h"
#include "tests/fake/api_server/fake_api_server.h"
#include "tests/fake/api_server/write_verbs.h"

/// The garbage collector and the namespace controller that live beside an API server.
/// Source: Kubernetes docs, "Garbage Collection"; an owner counts by its uid.
namespace kantha::fake {
namespace {

constexpr const char* kCollector = "kube-controller-manager";
constexpr const char* kCleanup = "customresourcecleanup.apiextensions.k8s.io";

bool has_finalizer(const Json& object, const char* name) {
  const Json& metadata = object.at("metadata");
  const auto list = metadata.find("finalizers");
  return list != metadata.end() && std::find(list->begin(), list->end(), name) != list->end();
}

ApiRequest delete_request(const std::string& path) {
  ApiRequest request;
  request.verb = "delete";
  request.manager = kCollector;
  const std::size_t slash = path.find('/');
  if (slash != std::string::npos) request.name_space = path.substr(0, slash);
  request.name = slash == std::string::npos ? path : path.substr(slash + 1);
  return request;
}

void erase_finalizer(Json& object, const char* name) {
  Json& list = object["metadata"]["finalizers"];
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == name) list.erase(i--);
  }
}

}  // namespace

void FakeApiServer::suspect(const Table& table, const Change& change) {
  const Json& object = change.after != nullptr ? *change.after : *change.before;
  const Json& metadata = object.at("metadata");
  Table& own = const_cast<Table&>(table);  // NOLINT: tables are the store's, handed out const
  const bool is_namespace = table.kind.plural == "namespaces";
  const bool is_deleting = metadata.contains("deletionTimestamp");
  const bool owners_changed =
      change.after != nullptr && metadata.contains("ownerReferences") &&
      (change.before == nullptr || change.before->at("metadata").value("ownerReferences", Json()) !=
                                       metadata["ownerReferences"]);
  if (owners_changed || (change.after != nullptr && is_deleting)) {
    suspects_.insert({&own, change.path});
  }
  if (change.after == nullptr) {
    for (auto& dependent : store_.dependents_of(metadata.at("uid"))) suspects_.insert(dependent);
    for (const Json& owner : metadata.value("ownerReferences", Json::array())) {
      if (const auto place = store_.find_uid(owner.value("uid", ""))) suspects_.insert(*place);
    }
    if (table.kind.is_custom) {
      Table* definitions = store_.find_table("apiextensions.k8s.io", "customresourcedefinitions");
      suspects_.insert({definitions, table.kind.qualified()});
    }
    const std::string name_space = metadata.value("namespace", "");
    Table* namespaces = store_.find_table("", "namespaces");
    const Stored* place = store_.find(*namespaces, name_space);
    if (place != nullptr && place->json->at("metadata").contains("deletionTimestamp")) {
      suspects_.insert({namespaces, name_space});
    }
  }
  if (is_namespace && is_deleting) suspects_.insert({&own, change.path});
  if (!suspects_.empty()) collector_wakes_.notify();
}

void FakeApiServer::empty_namespace(const std::string& name) {
  bool is_empty = true;
  for (Table* table : store_.tables()) {
    if (!table->kind.is_namespaced) continue;
    std::vector<std::string> paths;
    for (const auto& [path, stored] : table->objects) {
      if (path.starts_with(name + "/")) paths.push_back(path);
    }
    for (const std::string& path : paths) {
      const Stored* stored = store_.find(*table, path);
      const bool marked = stored->json->at("metadata").contains("deletionTimestamp");
      if (!marked) DeleteVerb(*this, *table).run(delete_request(path));
      if (store_.find(*table, path) != nullptr) is_empty = false;
    }
  }
  Table* namespaces = store_.find_table("", "namespaces");
  if (is_empty) store_.erase(*namespaces, name, {.manager = kCollector, .verb = "collect"});
}

void FakeApiServer::clean_kind(Table& definitions, const ObjectPtr& definition) {
  const Kind kind = kind_of_definition(*definition);
  Table* table = store_.find_table(kind.group, kind.plural);
  std::vector<std::string> paths;
  for (const auto& [path, stored] : table->objects) paths.push_back(path);
  for (const std::string& path : paths) {
    const ObjectPtr object = store_.find(*table, path)->json;
    if (object->at("metadata").contains("deletionTimestamp")) continue;
    DeleteVerb(*this, *table).run(delete_request(path));
  }
  if (!table->objects.empty()) return;
  Json after = *definition;
  erase_finalizer(after, kCleanup);
  WriteVerbs(*this, definitions).store_edit(definition, std::move(after), kCollector, "");
}

void FakeApiServer::collect_one(Table& table, const std::string& path) {
  const Stored* stored = store_.find(table, path);
  if (stored == nullptr) return;
  const ObjectPtr object = stored->json;
  const Json& metadata = object->at("metadata");
  if (table.kind.plural == "namespaces") {
    if (metadata.contains("deletionTimestamp")) empty_namespace(path);
    return;
  }
  const std::string uid = metadata.at("uid");
  const bool is_deleting = metadata.contains("deletionTimestamp");
  if (is_deleting && has_finalizer(*object, kCleanup)) {
    clean_kind(table, object);
    return;
  }
  if (is_deleting && has_finalizer(*object, "foregroundDeletion")) {
    bool is_blocked = false;
    for (const auto& [dependents, name] : store_.dependents_of(uid)) {
      DeleteVerb(*this, *dependents).run(delete_request(name));
      if (store_.find(*dependents, name) != nullptr) is_blocked = true;
    }
    if (is_blocked) return;
    Json after = *object;
    erase_finalizer(after, "foregroundDeletion");
    WriteVerbs(*this, table).store_edit(object, std::move(after), kCollector, "");
    return;
  }
  if (is_deleting && has_finalizer(*object, "orphan")) {
    for (const auto& [dependents, name] : store_.dependents_of(uid)) {
      const ObjectPtr child = store_.find(*dependents, name)->json;
      Json after = *child;
      Json& owners = after["metadata"]["ownerReferences"];
      for (std::size_t i = 0; i < owners.size(); ++i) {
        if (owners[i].value("uid", "") == uid) owners.erase(i--);
      }
      WriteVerbs(*this, *dependents).store_edit(child, std::move(after), kCollector, "");
    }
    Json after = *object;
    erase_finalizer(after, "orphan");
    WriteVerbs(*this, table).store_edit(object, std::move(after), kCollector, "");
    return;
  }
  const Json owners = metadata.value("ownerReferences", Json::array());
  if (is_deleting || owners.empty()) return;
  const bool has_owner = std::any_of(owners.begin(), owners.end(), [&](const Json& owner) {
    return store_.find_uid(owner.value("uid", "")).has_value();
  });
  if (!has_owner) DeleteVerb(*this, table).run(delete_request(path));
}

void FakeApiServer::collect_garbage() {
  for (int round = 0; round < 100 && !suspects_.empty(); ++round) {
    for (const auto& [table, path] : std::exchange(suspects_, {})) collect_one(*table, path);
  }
}

net::Task<void> FakeApiServer::run_collector() {
  while (!is_stopped_) {
    if (suspects_.empty()) co_await collector_wakes_.wait(std::chrono::hours(1));
    if (is_stopped_) co_return;
    co_await net::sleep_for(options_.collector_delay);
    collect_garbage();
  }
}

}  // namespace kantha::fake
