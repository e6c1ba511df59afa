#include "tests/fake/api_server/fake_api_server.h"

#include <fmt/format.h>

#include "base/check.h"
#include "tests/fake/api_server/delete_verb.h"
#include "tests/fake/api_server/write_verbs.h"

namespace kantha::fake {
namespace {

constexpr const char* kDefinitions = "customresourcedefinitions";

Json namespace_object(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}};
}

net::HttpRequest request_of(std::string method, std::string target, const std::string& manager,
                            const Json* body) {
  net::HttpRequest request{.method = std::move(method), .target = std::move(target)};
  request.headers.set("User-Agent", manager);
  request.headers.set("Content-Type", "application/json");
  if (body != nullptr) request.body = dump_json(*body);
  return request;
}

Json open_definition() {
  const Json open = {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  Json status = open;
  status["properties"]["conditions"] = {{"type", "array"},
                                        {"x-kubernetes-list-type", "map"},
                                        {"x-kubernetes-list-map-keys", {"type"}},
                                        {"items", open}};
  const Json schema = {{"type", "object"}, {"properties", {{"spec", open}, {"status", status}}}};
  const Json version = {{"name", "v1alpha1"},
                        {"served", true},
                        {"storage", true},
                        {"schema", {{"openAPIV3Schema", schema}}},
                        {"subresources", {{"status", Json::object()}, {"scale", Json::object()}}}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", "modelservings.serving.kantha.dev"}}},
          {"spec",
           {{"group", "serving.kantha.dev"},
            {"scope", "Namespaced"},
            {"names",
             {{"plural", "modelservings"},
              {"singular", "modelserving"},
              {"kind", "ModelServing"},
              {"listKind", "ModelServingList"},
              {"shortNames", {"kms"}}}},
            {"versions", {version}}}}};
}

}  // namespace

FakeApiServer::FakeApiServer(boost::asio::any_io_executor executor, const Clock& clock,
                             ServerOptions options)
    : executor_(executor),
      options_(options),
      store_(clock, options.seed, options.history),
      changed_(executor),
      collector_wakes_(executor) {
  store_.render_managers(options_.renders_managed_fields);
  store_.on_change([this](const Table& table, const Change& change, const WriteRecord&) {
    if (table.kind.plural == kDefinitions) definition_changed(change);
    suspect(table, change);
    changed_.notify();
  });
  for (const char* name : {"default", "kube-system"}) {
    create({"", "v1", "namespaces", "Namespace", false}, namespace_object(name), "kube-apiserver");
    create(kube::kServiceAccounts,
           {{"apiVersion", "v1"},
            {"kind", "ServiceAccount"},
            {"metadata", {{"name", "default"}, {"namespace", name}}}},
           "kube-controller-manager");
  }
  store_.clear_writes();
}

FakeApiServer::~FakeApiServer() = default;

std::optional<Refusal> FakeApiServer::check_access(const ApiRequest& request) {
  if (!access_rule_) return std::nullopt;
  const Access access{request.user,       request.verb, request.group,      request.plural,
                      request.name_space, request.name, request.subresource};
  if (access_rule_(access)) return std::nullopt;
  std::string resource = request.plural;
  if (!request.subresource.empty()) resource += "/" + request.subresource;
  const std::string scope = request.name_space.empty()
                                ? "at the cluster scope"
                                : fmt::format("in the namespace \"{}\"", request.name_space);
  const Kind kind{.group = request.group, .plural = request.plural};
  return forbidden(kind, request.name,
                   fmt::format("User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {}",
                               request.user, request.verb, resource, request.group, scope));
}

Answer FakeApiServer::answer(const net::HttpRequest& http, const ReadViewPtr& view) {
  store_.compact();
  const ApiRequest request = parse_api_request(http);
  if (request.plural.empty()) return {answer_other(request)};
  if (const auto refusal = check_access(request)) return {refusal_answer(*refusal)};
  Table* table = store_.find_table(request.group, request.plural);
  if (table == nullptr || table->kind.version != request.version) {
    for (const Table* other : store_.tables()) {
      if (other->kind.group != request.group || other->kind.version != request.version) continue;
      return {refusal_answer(
          {404, "NotFound", "the server could not find the requested resource", Json::object()})};
    }
    return {{404, {{"Content-Type", "text/plain; charset=utf-8"}}, "404 page not found\n"}};
  }
  if (request.verb == "watch") return watch(request, *table, view);
  if (request.verb == "list") return {list(request, *table, view)};
  if (request.verb == "get") return {get(request, *table)};
  return {write(request, *table)};
}

net::HttpResponse FakeApiServer::write(const ApiRequest& request, Table& table) {
  try {
    if (request.verb == "delete") return DeleteVerb(*this, table).run(request);
    if (request.verb == "create" || request.verb == "update" || request.verb == "patch") {
      return WriteVerbs(*this, table).run(request);
    }
  } catch (const Json::exception& error) {
    return refusal_answer(bad_request(std::string("the object is malformed: ") + error.what()));
  }
  return refusal_answer(
      {405, "MethodNotAllowed", "the server does not allow this method on the requested resource"});
}

void FakeApiServer::definition_changed(const Change& change) {
  const Json& definition = change.after != nullptr ? *change.after : *change.before;
  Kind kind = kind_of_definition(definition);
  Table* table = store_.find_table(kind.group, kind.plural);
  if (change.after == nullptr) {
    if (table == nullptr) return;
    // Its objects go with it, without a trace in watches of the kind that is no longer there.
    table->kind.is_installed = false;
    return;
  }
  if (table != nullptr) {
    table->kind = std::move(kind);
  } else {
    store_.add_table(std::move(kind));
  }
}

void FakeApiServer::install(const Json& definition) {
  create({"apiextensions.k8s.io", "v1", kDefinitions, "CustomResourceDefinition", false},
         definition, "installer");
}

void FakeApiServer::install_model_servings() { install(open_definition()); }

ObjectPtr FakeApiServer::find(const kube::Resource& resource, const kube::ObjectKey& key) {
  Table* table = store_.find_table(resource.group, resource.plural);
  if (table == nullptr) return nullptr;
  const std::string path = key.name_space.empty() ? key.name : key.name_space + "/" + key.name;
  const Stored* stored = store_.find(*table, path);
  return stored == nullptr ? nullptr : stored->json;
}

std::vector<ObjectPtr> FakeApiServer::all(const kube::Resource& resource,
                                          const std::string& name_space) {
  std::vector<ObjectPtr> objects;
  Table* table = store_.find_table(resource.group, resource.plural);
  if (table == nullptr) return objects;
  for (const auto& [path, stored] : table->objects) {
    if (name_space.empty() || path.starts_with(name_space + "/")) objects.push_back(stored.json);
  }
  return objects;
}

ObjectPtr FakeApiServer::create(const kube::Resource& resource, const Json& object,
                                const std::string& manager) {
  const Json& metadata = object.at("metadata");
  const std::string name_space =
      resource.is_namespaced ? metadata.value("namespace", "default") : std::string();
  Table* table = store_.find_table(resource.group, resource.plural);
  CHECK(table != nullptr, "the kind is installed");
  const auto request = request_of("POST", resource.collection_path(name_space), manager, &object);
  const auto answer = WriteVerbs(*this, *table).run(parse_api_request(request));
  CHECK(answer.status == 201, answer.body.c_str());
  return find(resource, {name_space, metadata.at("name")});
}

bool FakeApiServer::edit(const kube::Resource& resource, const kube::ObjectKey& key,
                         const std::function<void(Json&)>& edit, const std::string& manager,
                         const std::string& subresource) {
  const ObjectPtr before = find(resource, key);
  if (before == nullptr) return false;
  Table* table = store_.find_table(resource.group, resource.plural);
  Json after = *before;
  edit(after);
  WriteVerbs(*this, *table).store_edit(before, std::move(after), manager, subresource);
  return true;
}

bool FakeApiServer::remove(const kube::Resource& resource, const kube::ObjectKey& key,
                           const std::string& manager, std::optional<int> grace_seconds) {
  Table* table = store_.find_table(resource.group, resource.plural);
  if (table == nullptr || find(resource, key) == nullptr) return false;
  Json options = {{"kind", "DeleteOptions"}, {"apiVersion", "v1"}};
  if (grace_seconds) options["gracePeriodSeconds"] = *grace_seconds;
  const auto request = request_of("DELETE", resource.object_path(key), manager, &options);
  return DeleteVerb(*this, *table).run(parse_api_request(request)).status < 300;
}

void FakeApiServer::stop() {
  is_stopped_ = true;
  collector_wakes_.notify();
}

}  // namespace kantha::fake
