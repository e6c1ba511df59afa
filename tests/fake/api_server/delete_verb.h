#pragma once

#include <optional>

#include "tests/fake/api_server/fake_api_server.h"

/// DELETE of the fake API server: preconditions, grace of pods, finalizers, propagation. One
/// thread; lives for one request.
namespace kantha::fake {

class DeleteVerb {
 public:
  DeleteVerb(FakeApiServer& server, Table& table)
      : store_(server.store_), table_(table), kind_(table.kind) {}

  net::HttpResponse run(const ApiRequest& request);

 private:
  std::optional<Refusal> check_preconditions(const Json& object, const Json& options) const;
  std::int64_t grace_of(const Json& object, const Json& options) const;
  net::HttpResponse removed(const Json& object) const;

  ObjectStore& store_;
  Table& table_;
  const Kind& kind_;
};

}  // namespace kantha::fake
