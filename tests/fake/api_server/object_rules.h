#pragma once

#include <optional>
#include <string>

#include "tests/fake/api_server/api_refusal.h"
#include "tests/fake/api_server/object_store.h"

/// What the real server's registries do to objects before they are stored: defaults, allocation,
/// immutable fields, admission by service account. Only the rules that the operator can meet.
namespace kantha::fake {

/// Fills a new object in; nullopt: it may be stored.
std::optional<Refusal> prepare_new(ObjectStore& store, const Table& table, Json& object);
/// Judges a change of the main resource, or of a subresource.
std::optional<Refusal> prepare_change(const Table& table, const Json& before, Json& after,
                                      const std::string& subresource);
/// Spec, data or anything else that generation counts.
bool is_generation_change(const Json& before, const Json& after);

}  // namespace kantha::fake
