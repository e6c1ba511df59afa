#pragma once

#include <string>

#include "base/json.h"
#include "base/net/http.h"
#include "tests/fake/api_server/kind.h"

/// The answers with which an API server says no: Status objects in the words of the real one. Pure.
/// Source: k8s.io/apimachinery, api/errors; checked against 1.37 by tests/fake/conformance.py.
namespace kantha::fake {

struct Refusal {
  int code = 500;
  std::string reason;
  std::string message;
  Json details = nullptr;
  int retry_after = 0;  ///< seconds; 0: no header
};

net::HttpResponse refusal_answer(const Refusal& refusal);
Json status_object(const Refusal& refusal);
net::HttpResponse json_answer(int status, const Json& body);

Refusal not_found_refusal(const Kind& kind, const std::string& name);
Refusal already_exists(const Kind& kind, const std::string& name);
Refusal conflict(const Kind& kind, const std::string& name, const std::string& why);
/// Of a delete: named by kind, where other conflicts name the plural.
Refusal precondition_failed(const Kind& kind, const std::string& name, const std::string& why);
Refusal stale_version(const Kind& kind, const std::string& name);
Refusal bad_request(std::string message);
/// 422; one cause for each (field, cause reason, message).
struct Cause {
  std::string field;
  std::string reason;  ///< "FieldValueForbidden"
  std::string message;
};
Refusal invalid(const Kind& kind, const std::string& name, const std::vector<Cause>& causes);
Refusal forbidden(const Kind& kind, const std::string& name, const std::string& why);
Refusal namespace_terminating(const Kind& kind, const std::string& name,
                              const std::string& name_space);
Refusal expired(std::string message);
Refusal too_large_version(std::int64_t wanted, std::int64_t current);
Refusal throttled(int retry_after);

}  // namespace kantha::fake
