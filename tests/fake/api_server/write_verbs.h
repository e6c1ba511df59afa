#pragma once

#include <optional>
#include <string>
#include <variant>

#include "tests/fake/api_server/fake_api_server.h"

/// POST, PUT and PATCH of the fake API server. One thread; lives for one request.
namespace kantha::fake {

class WriteVerbs {
 public:
  WriteVerbs(FakeApiServer& server, Table& table)
      : server_(server), store_(server.store_), table_(table), kind_(table.kind) {}

  net::HttpResponse run(const ApiRequest& request);
  /// A write that knows no rules, for kubelets and for tests.
  void store_edit(const ObjectPtr& before, Json after, const std::string& manager,
                  const std::string& subresource);

 private:
  using Body = std::variant<Json, Refusal>;

  net::HttpResponse create(const ApiRequest& request, Json object, bool is_apply);
  net::HttpResponse update(const ApiRequest& request, Json object);
  net::HttpResponse patch(const ApiRequest& request);
  net::HttpResponse apply(const ApiRequest& request);
  net::HttpResponse scale(const ApiRequest& request, const Stored& stored);

  Body read_body(const ApiRequest& request) const;
  Body patched(const ApiRequest& request, const Json& live) const;
  std::optional<Refusal> check_place(const ApiRequest& request, Json& object);
  std::optional<Refusal> check_uid(const ApiRequest& request, const Json& live,
                                   const Json& object) const;
  std::optional<Refusal> check_version(const Json& live, const Json& object,
                                       bool needs_version) const;
  /// The part of `object` that the subresource lets through, on top of `live`.
  Json through_subresource(const Json& live, Json object, const std::string& subresource) const;
  Refusal apply_conflicts(const std::string& name, const std::vector<ApplyConflict>& conflicts);
  /// Stores, or deletes when the last finalizer went; nothing when nothing changed.
  net::HttpResponse finish(const ApiRequest& request, const Json& live, Json after,
                           ManagerEntries managers, const std::string& verb);
  bool is_definition_terminating() const;
  Writer writer_of(const ApiRequest& request) const;
  void init_metadata(Json& object) const;

  FakeApiServer& server_;
  ObjectStore& store_;
  Table& table_;
  const Kind& kind_;
};

}  // namespace kantha::fake
