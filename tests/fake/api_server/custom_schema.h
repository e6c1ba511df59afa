#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "tests/fake/api_server/api_refusal.h"

/// What a structural schema does to a custom object: unknown fields go, defaults come, and wrong
/// types and ranges are refused. No CEL. Pure.
/// Source: Kubernetes docs, "Extend the Kubernetes API with CustomResourceDefinitions".
namespace kantha::fake {

/// Drops fields that the schema does not name; gives their paths ("spec.foo").
std::vector<std::string> prune_unknown(const Json& schema, Json& object);
void set_defaults(const Json& schema, Json& value);
std::vector<Cause> check_schema(const Json& schema, const Json& object);

}  // namespace kantha::fake
